import pytest

WEATHER = "6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b"

@pytest.mark.cairn(apps=["weather.pbw"], behaviours={WEATHER: {"buttons": {"select": [{"send": {"5": "rain"}}]}}})
def test_weather(watch, phone, tmp_path):
    phone.connect(phone.find(watch.name))
    phone.pair()
    phone.open_session()
    phone.launch(WEATHER)
    phone.push({1: "Paris"})
    assert watch.expect_message({1: "Paris"}).app == WEATHER
    watch.press("select")
    phone.expect({5: "rain"})
    watch.screen().save(tmp_path / "weather.png")
