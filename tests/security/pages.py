"""Parse a page as a browser does, and list the elements that are not expected."""

import html.parser

from markdown_it import MarkdownIt


class Reader(html.parser.HTMLParser):
    """Collect the text, and the elements that are not expected."""

    def __init__(self, expected):
        super().__init__()
        self.expected, self.other, self.text = expected, [], ""

    def handle_starttag(self, tag, attrs):
        if tag not in self.expected:
            self.other.append((tag, attrs))

    def handle_comment(self, data):
        self.other.append(("comment", data))

    def handle_data(self, data):
        self.text += data


def read_html(page, *expected):
    reader = Reader(expected)
    reader.feed(page)
    reader.close()
    return reader


def rendered(markdown, *expected):
    """Render Markdown nearly as GitHub does (CommonMark with tables and strikethrough), and read the page."""
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return read_html(page, *expected)
