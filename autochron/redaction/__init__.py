"""Find secrets in JSON text, and mask them before anything is stored."""
