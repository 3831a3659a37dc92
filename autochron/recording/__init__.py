"""Record crossings: the recorder hears of them, drafts wait in the writer's queue, and envelopes go to a sink."""
