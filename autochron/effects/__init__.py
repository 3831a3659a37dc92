"""What a program does to the world outside its boundaries: state that is kept, scratch copies, and what was changed there."""
