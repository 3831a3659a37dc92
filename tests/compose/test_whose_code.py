"""Which code is a library's, which pack is for it, and which code is the user's own."""

from tests.cli.processes import autochron, write

GENAI = """\
class BaseApiClient:
    def request(self, http_method, path, request_dict):
        return {"text": request_dict["text"]}
"""

AGENT = """\
{imports}

client = BaseApiClient()
print(client.request("post", "models/gemini:generateContent", {{"text": "hello"}}))
"""

FIRST = {
    "alone": "from google.genai._api_client import BaseApiClient",
    "after another library of its namespace": "import google.auth\nfrom google.genai._api_client import BaseApiClient",
    "after one whose name begins alike": "import google.genai_extras\nfrom google.genai._api_client import BaseApiClient",
}


def test_a_pack_is_taken_up_by_its_own_module_and_not_by_its_namespace(tmp_path):
    libraries = {
        "google/auth/__init__.py": "",
        "google/genai_extras/__init__.py": "",
        "google/genai/__init__.py": "",
        "google/genai/_api_client.py": GENAI,
    }
    write(tmp_path, libraries)
    crossed = {}
    for way, imports in FIRST.items():
        write(tmp_path, {"agent.py": AGENT.format(imports=imports)})
        done = autochron(tmp_path, "run", "agent.py")
        crossed[way] = (done.status, "  model ×1\n" in done.said)
    assert crossed == dict.fromkeys(FIRST, (0, True))
