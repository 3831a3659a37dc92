"""The paper's table, for the incidents of the suite: `python -m bench.paper`."""
