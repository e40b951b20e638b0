import pytest

from nmt.training.schedule import learning_rate, paper_peak


@pytest.mark.parametrize("update", [1, 100, 3999, 4000, 4001, 100000])
def test_is_the_paper_s_equation_3(update):
    expected = 512**-0.5 * min(update**-0.5, update * 4000**-1.5)
    assert learning_rate(update, 4000, paper_peak(512, 4000)) == pytest.approx(expected, rel=1e-12)


def test_peaks_at_the_end_of_the_warmup():
    rates = [learning_rate(update, 20, 0.3) for update in range(1, 60)]
    assert max(rates) == rates[19] == pytest.approx(0.3)
