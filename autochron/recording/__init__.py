"""Record crossings: the recorder notes them in drafts, and the writer's thread turns drafts into envelopes."""
