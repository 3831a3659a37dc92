"""Pages to look at: a trace, two traces side by side, or a replay beside its record.

`page_data` turns crossings into data, in which equal parts are written once (`shared_json`); `side_by_side` does so for two
sides. `page` puts the data into one HTML file with the script and the style of `static`. `server` shows it on loopback.
"""
