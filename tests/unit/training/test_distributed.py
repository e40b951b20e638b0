"""What a rank says when the others do not answer."""

import pytest

from nmt.errors import UserError
from nmt.training import distributed


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("[gloo/pair.cc:553] Connection closed by peer", "another process .* has ended"),
        ("gloo: Timed out waiting 21600000ms for recv", "not answered for 6:00:00"),
    ],
)
def test_lost_processes_and_silent_ones_are_told_apart(monkeypatch, reason, message):
    monkeypatch.setenv("LOCAL_RANK", "0")
    for name in ("init_process_group", "destroy_process_group"):
        monkeypatch.setattr(distributed.dist, name, lambda **_: None)
    monkeypatch.setattr(distributed.dist, "get_rank", lambda: 0)
    monkeypatch.setattr(distributed.dist, "get_world_size", lambda: 2)
    with pytest.raises(UserError, match=message), distributed.process_group():
        raise RuntimeError(reason)
