"""What the check of a page's size says of numbers alone."""

from check_size import HEAVIEST, TALLEST, height_problems, weight_problems


def test_a_page_is_weighed_by_what_it_loads():
    light = [("a.js", HEAVIEST - 1), ("b.css", 1)]
    assert weight_problems(light) == []
    (said,) = weight_problems([*light, ("c.svg", 1)])
    assert said.startswith(f"{HEAVIEST + 1} bytes") and "a.js" in said


def test_a_page_has_a_greatest_height():
    assert height_problems(TALLEST) == []
    assert height_problems(TALLEST + 1) == [f"{TALLEST + 1} pixels high, allowed: {TALLEST}"]
