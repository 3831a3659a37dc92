import house
import pytest
import tools


@pytest.mark.autochron("warm.jsonl", live=["heat"], predicate="predicate.py")
def test_the_bath_does_not_get_hot(replay):
    house.main("the bath should be 50 degrees warmer")
    assert replay["heat[1]"].result["degrees"] == 26


@pytest.mark.autochron("usual.jsonl", live=["heat"], predicate="predicate.py", part="twin")
def test_the_study_gets_warmer(replay):
    assert house.main("the study should be 2 degrees warmer") == "study: 21"
    assert tools.now == {"bath": 21, "study": 21}
