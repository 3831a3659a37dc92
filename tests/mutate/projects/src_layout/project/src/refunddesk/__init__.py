"""An agent that answers customers who want money back."""
