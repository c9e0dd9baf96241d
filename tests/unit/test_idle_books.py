"""The books of an idle queue, without sockets: who gets what, and what every client is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg.patterns.idle._books import BYE, FAILED, READY, IdleBooks, Word
from meshmsg.patterns.idle._job import JobForm

PATIENCE = 10.0
ID = b"\x80\x00\x00\x01"
WORKERS = (b"a", b"b", b"c", b"0", b"1", b"2", b"slow", b"fast")
CLIENTS = (b"x", b"y", b"plain", b"ours", b"other", b"0", b"1", b"2")


def books(*, backlog: int = 100, retries: int = 1, patience: float | None = None) -> IdleBooks:
    """Books in which nobody has said anything; all are connected."""
    one = IdleBooks(backlog, retries, patience)
    one.workers_here(dict.fromkeys(WORKERS, 1), 0.0)
    one.clients_here(CLIENTS)
    return one


def said(books: IdleBooks) -> list[Word]:
    """All that is to be said, as if it was sent."""
    words = []
    while (word := books.next_word()) is not None:
        books.said(word)
        words.append(word)
    books.check()
    return words


def jobs(books: IdleBooks) -> list[tuple[bytes, bytes, bytes]]:
    """Who got which request, and its tag."""
    return [(w.name, w.frames[2], w.frames[1]) for w in said(books) if w.to_worker]


def test_the_worker_that_is_idle_longest_gets_the_next_request() -> None:
    """In the order they became idle, whatever order they came in, asking twice or not."""
    one = books()
    for name in (b"a", b"b", b"c"):
        one.hear_worker(name, [b"", READY], 0.0)
    one.hear_worker(b"a", [b"", READY], 0.0)
    for n in range(2):
        one.hear_client(b"x", [b"", b"%d" % n], 0.0)
    given = jobs(one)
    assert [(name, body) for name, body, _ in given] == [(b"a", b"0"), (b"b", b"1")]
    one.hear_worker(b"b", [b"", given[1][2], b"done"], 1.0)
    one.hear_worker(b"a", [b"", given[0][2], b"done"], 1.0)
    answers = [(word.name, word.frames) for word in said(one)]
    assert answers == [(b"x", [b"", b"done"])] * 2
    for n in range(3):
        one.hear_client(b"x", [b"", b"%d" % n], 2.0)
    assert [name for name, _, _ in jobs(one)] == [b"c", b"b", b"a"]


def test_requests_wait_in_order_while_nobody_is_idle() -> None:
    """One more than the backlog is refused at once, in words of the client."""
    one = books(backlog=2)
    for n in range(2):
        one.hear_client(b"x", [b"", b"%d" % n], 0.0)
    assert said(one) == []
    one.hear_client(b"plain", [b"", b"too many"], 0.0)
    one.hear_client(b"ours", [ID, b"", b"too many"], 0.0)
    one.hear_client(b"other", [b"\x00\x00\x00\x01", b"", b"too many"], 0.0)
    reason = b"2 requests wait already"
    assert [(word.name, word.frames) for word in said(one)] == [
        (b"plain", [b"", b"REFUSED " + reason]),
        (b"ours", [ID, b"REFUSED", reason]),
        (b"other", [b"\x00\x00\x00\x01", b"", b"REFUSED " + reason]),
    ]
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_worker(b"b", [b"", READY], 0.0)
    assert [body for _, body, _ in jobs(one)] == [b"0", b"1"]
    assert (one.stats().refused, one.stats().taken) == (3, 5)


def test_what_a_lost_worker_had_goes_to_another_and_then_is_refused() -> None:
    """Before what came later; as often as is allowed."""
    one = books(retries=1)
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"first"], 0.0)
    one.hear_client(b"x", [b"", b"second"], 0.0)
    jobs(one)
    one.workers_here({b"b": 1}, 0.0)
    one.hear_worker(b"b", [b"", READY], 0.0)
    assert [(name, body) for name, body, _ in jobs(one)] == [(b"b", b"first")]
    one.hear_worker(b"b", [b"", BYE], 0.0)
    ((refusal, kind),) = [(word.frames, word.settles) for word in said(one)]
    assert kind == "refused"
    assert refusal == [b"", b"REFUSED the worker was lost, the last of 2 attempts"]
    assert (one.stats().retried, one.stats().waiting) == (1, 1)


def test_a_worker_whose_connection_is_a_new_one_has_lost_what_it_had() -> None:
    """The same name, another connection: the request never comes back from there."""
    one = books()
    one.workers_here({b"a": 1}, 0.0)
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"job"], 0.0)
    jobs(one)
    one.workers_here({b"a": 1}, 0.0)
    assert one.stats().at_work == 1
    one.workers_here({b"a": 2}, 0.0)
    assert (one.stats().at_work, one.stats().waiting) == (0, 1)


def test_a_req_that_says_it_is_ready_has_not_heard_what_it_was_given() -> None:
    """The READY that was read first was of the socket before it; others only repeat theirs."""
    one = books()
    one.workers_here({b"a": 1, b"b": 1}, 0.0, {b"a"})
    for name in (b"a", b"b"):
        one.hear_worker(name, [b"", READY], 0.0)
        one.hear_client(b"x", [b"", b"job of " + name], 0.0)
    assert [body for _, body, _ in jobs(one)] == [b"job of a", b"job of b"]
    one.hear_worker(b"b", [b"", READY], 0.0)
    assert jobs(one) == []
    one.hear_worker(b"a", [b"", READY], 0.0)
    assert [(name, body) for name, body, _ in jobs(one)] == [(b"a", b"job of a")]
    one.hear_worker(b"a", [b"", READY], 0.0)
    refusal = b"REFUSED the worker was given it before it was ready, the last of 2 attempts"
    assert [word.frames[-1] for word in said(one)] == [refusal]
    assert (one.stats().retried, one.stats().at_work, one.stats().idle) == (1, 1, 1)


def test_a_worker_that_takes_too_long_loses_its_request_and_may_still_answer_first() -> None:
    """Whoever answers first counts; the other answer is late. It gets nothing until it speaks."""
    one = books(patience=PATIENCE)
    one.hear_worker(b"slow", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"job"], 0.0)
    ((_, _, tag),) = jobs(one)
    one.expire(PATIENCE - 0.001)
    assert one.stats().at_work == 1
    one.expire(PATIENCE)
    one.hear_worker(b"fast", [b"", READY], PATIENCE)
    assert [name for name, _, _ in jobs(one)] == [b"fast"]
    one.hear_worker(b"slow", [b"", tag, b"at last"], PATIENCE)
    assert one.stats().late == 0
    assert [word.frames for word in said(one)] == [[b"", b"at last"]]
    one.hear_worker(b"fast", [b"", tag, b"too late"], PATIENCE)
    assert said(one) == []
    now = one.stats()
    assert (now.answered, now.late, now.idle, now.retried) == (1, 1, 2, 1)


def test_an_answer_counts_once_however_long_it_took() -> None:
    """Of a worker that is alone, and slower than the patience with it."""
    one = books(patience=PATIENCE)
    one.hear_worker(b"slow", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"job"], 0.0)
    ((_, _, tag),) = jobs(one)
    one.expire(PATIENCE)
    one.hear_worker(b"slow", [b"", tag, b"at last"], PATIENCE)
    assert len(said(one)) == 1
    now = one.stats()
    assert (now.answered, now.late, now.retried, now.waiting) == (1, 0, 1, 0)


def test_a_worker_that_fails_says_so_and_nobody_else_tries() -> None:
    """The client is told the reason; what is not its own it cannot refuse."""
    one = books()
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [ID, b"", b"job"], 0.0)
    ((_, _, tag),) = jobs(one)
    one.hear_worker(b"b", [b"", FAILED, tag, b"no"], 0.0)
    assert said(one) == []
    one.hear_worker(b"a", [b"", FAILED, tag, b"no disk"], 0.0)
    assert said(one)[0].frames == [ID, b"REFUSED", b"no disk"]
    assert (one.stats().refused, one.stats().idle) == (1, 2)


def test_clients_that_left_are_forgotten_and_who_cannot_be_reached_is_counted() -> None:
    """Neither is answered, neither is lost from the counts."""
    one = books()
    one.hear_client(b"x", [b"", b"1"], 0.0)
    one.hear_client(b"y", [b"", b"2"], 0.0)
    one.clients_here({b"y"})
    one.hear_worker(b"a", [b"", READY], 0.0)
    ((name, body, tag),) = jobs(one)
    assert (name, body) == (b"a", b"2")
    one.hear_worker(b"a", [b"", tag, b"answer"], 0.0)
    one.unsaid(one.out.popleft(), 0.0)
    one.check()
    assert (one.stats().dropped, one.stats().answered) == (2, 0)


def test_a_worker_that_cannot_be_reached_is_gone_and_the_attempt_does_not_count() -> None:
    """The request never got there, so it is no retry."""
    one = books(retries=0)
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"job"], 0.0)
    one.unsaid(one.out.popleft(), 0.0)
    one.check()
    assert (one.stats().workers, one.stats().waiting, one.stats().retried) == (0, 1, 0)
    one.hear_worker(b"b", [b"", READY], 0.0)
    assert [name for name, _, _ in jobs(one)] == [b"b"]


@pytest.mark.parametrize("frames", [[], [b"x"], [b"x", b"y"], [b"x", b""]])
def test_what_is_no_request_is_counted(frames: list[bytes]) -> None:
    """No delimiter, or nothing behind it."""
    one = books()
    one.hear_client(b"x", frames, 0.0)
    assert (one.stats().malformed, one.stats().taken) == (1, 0)


@pytest.mark.parametrize(
    "frames", [[], [b""], [READY], [b"", b"what"], [b"", bytes(8)], [b"", FAILED, bytes(8)]]
)
def test_what_no_worker_says_is_counted(frames: list[bytes]) -> None:
    """And makes nobody a worker."""
    one = books()
    one.hear_worker(b"x", frames, 0.0)
    assert (one.stats().malformed, one.stats().workers) == (1, 0)


@pytest.mark.parametrize("options", [{"backlog": -1}, {"retries": -1}, {"patience": 0.0}])
def test_numbers_that_make_no_sense_are_refused(options: dict[str, int]) -> None:
    """At once."""
    with pytest.raises(mm.UsageError):
        books(**options)  # type: ignore[arg-type]


def test_numbers_of_requests_are_not_those_of_the_queue_before() -> None:
    """An answer to a request of a queue that is gone reaches nobody in the one after it."""
    before, after = books(), books()
    for one in (before, after):
        one.hear_worker(b"a", [b"", READY], 0.0)
        one.hear_client(b"x", [b"", b"job"], 0.0)
    ((_, _, old),), ((_, _, new),) = jobs(before), jobs(after)
    assert old != new
    after.hear_worker(b"b", [b"", old, b"answer of yesterday"], 0.0)
    assert said(after) == []
    assert (after.stats().late, after.stats().at_work) == (1, 1)


def test_a_number_counts_and_has_octets_that_nobody_can_guess() -> None:
    """So no two are the same while a queue lives, and no worker knows that of another's."""
    one = IdleBooks(9, 0, None, random=lambda size: b"r" * size)
    one.clients_here(CLIENTS)
    for n in range(2):
        one.hear_client(b"x", [b"", b"%d" % n], 0.0)
    one.workers_here({b"a": 1, b"b": 1}, 0.0)
    for name in (b"a", b"b"):
        one.hear_worker(name, [b"", READY], 0.0)
    assert [tag for _, _, tag in jobs(one)] == [b"\0\0\0\0rrrr", b"\0\0\0\1rrrr"]


def test_a_worker_that_went_and_came_back_between_two_looks_has_lost_what_it_had() -> None:
    """Its first connection was seen by the look before its first word; it is ready again, too."""
    one = books()
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"job"], 0.0)
    ((_, _, first),) = jobs(one)
    one.workers_here({b"a": 2}, 0.0)
    assert (one.stats().at_work, one.stats().waiting, one.stats().workers) == (0, 1, 0)
    one.hear_worker(b"a", [b"", READY], 0.0)
    assert jobs(one) == [(b"a", b"job", first)]


def test_what_was_said_by_a_worker_that_has_left_makes_nobody_a_worker() -> None:
    """Its answer counts; it gets nothing more, as nobody is there."""
    one = books()
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"job"], 0.0)
    ((_, _, tag),) = jobs(one)
    one.workers_here({}, 0.0)
    one.hear_worker(b"a", [b"", tag, b"done"], 0.0)
    assert [word.settles for word in said(one)] == ["answered"]
    one.hear_worker(b"a", [b"", READY], 0.0)
    assert one.stats().workers == 0


def test_a_request_that_cannot_be_passed_on_is_refused_and_its_worker_gets_the_next_one() -> None:
    """Nobody else notices: neither the worker nor who asked after it."""
    one = books()
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_worker(b"b", [b"", READY], 0.0)
    one.hear_client(b"x", [ID, b"", b"huge"], 0.0)
    one.hear_client(b"y", [b"", b"fine"], 0.0)
    word = one.next_word()
    assert word is not None
    one.unsendable(word, "over 10 bytes", 0.0)
    one.hear_client(b"y", [b"", b"next"], 0.0)
    words = [(word.name, word.frames[-1]) for word in said(one)]
    reason = (
        b"the request cannot be passed on to a worker, with 3 frames before it "
        b"(the worker's name, an empty one, a number): over 10 bytes"
    )
    assert words == [(b"b", b"fine"), (b"x", reason), (b"a", b"next")]
    assert (one.stats().refused, one.stats().workers, one.stats().retried) == (1, 2, 0)


def test_an_answer_that_cannot_be_passed_on_is_a_refusal() -> None:
    """And a refusal for which there is no way either is counted as dropped."""
    one = books()
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [ID, b"", b"job"], 0.0)
    ((_, _, tag),) = jobs(one)
    one.hear_worker(b"a", [b"", tag, b"huge"], 0.0)
    for _ in range(2):
        word = one.next_word()
        assert word is not None
        one.unsendable(word, "over 10 bytes", 0.0)
    one.check()
    assert word.frames[-1] == b"the worker's answer cannot be passed on: over 10 bytes"
    assert (one.stats().dropped, one.stats().answered, one.stats().idle) == (1, 0, 1)


def test_a_request_that_was_taken_from_its_worker_before_it_was_sent_is_not_sent() -> None:
    """The worker of that name may be another one by then."""
    one = books()
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"job"], 0.0)
    one.workers_here({b"a": 2, b"b": 1}, 0.0)
    one.hear_worker(b"b", [b"", READY], 0.0)
    assert [name for name, _, _ in jobs(one)] == [b"b"]


def test_a_client_that_left_after_it_asked_takes_no_place() -> None:
    """Heard after it left, or lost by its worker after that: dropped, not asked of anybody."""
    one = books(backlog=1)
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.hear_client(b"x", [b"", b"1"], 0.0)
    jobs(one)
    one.clients_here({b"y"})
    one.hear_client(b"x", [b"", b"2"], 0.0)
    one.worker_gone(b"a", 0.0)
    one.check()
    assert (one.stats().dropped, one.stats().waiting) == (2, 0)


@pytest.mark.parametrize("character", ["a", "é", "€", "😀"])
@pytest.mark.parametrize("missing", [1, 0, -1])
def test_a_long_reason_is_cut_between_two_characters(character: str, missing: int) -> None:
    """At the limit of octets, or up to three before it."""
    size = len(character.encode())
    one = books(backlog=0)
    one.refusal = str.encode
    text = "x" * (1024 - size - missing) + character + "tail"
    one.hear_worker(b"a", [b"", READY], 0.0)
    one.backlog = 1
    one.hear_client(b"x", [ID, b"", b"job"], 0.0)
    ((_, _, tag),) = jobs(one)
    one.hear_worker(b"a", [b"", FAILED, tag, text.encode()], 0.0)
    reason = said(one)[0].frames[-1]
    assert text.startswith(reason.decode())
    assert 1024 - size < len(reason) <= 1024


def test_a_refusal_function_that_fails_changes_nothing_but_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged, and the client is told as if there were none."""
    for broken in (lambda _reason: 1 / 0, lambda _reason: "text"):
        one = books(backlog=0)
        one.refusal = broken  # type: ignore[assignment]
        one.hear_client(b"x", [b"", b"job"], 0.0)
        assert said(one)[0].frames == [b"", b"REFUSED 0 requests wait already"]
    assert caplog.text.count("refusal= of an idle queue failed") == 2


def test_a_job_is_settled_once() -> None:
    """And what the queue never sends is none."""
    assert [JobForm._of(bad) for bad in ([], [b"", b"x", b"y"], [b"x", bytes(8), b"y"])] == [
        None
    ] * 3
    job = JobForm._of([b"", bytes(8), b"a", b"b"])
    assert job is not None
    assert (job, job.frames, job.settled) == (b"a", (b"a", b"b"), False)
    with pytest.raises(mm.UsageError, match="at least one frame"):
        job._answer([])
    assert job._answer([b"c"]) == [b"", bytes(8), b"c"]
    assert job._refusal("no") == [b"", FAILED, bytes(8), b"no"]
    job.settled = True
    with pytest.raises(mm.UsageError, match="already"):
        job._refusal("no")


WHAT = ["ask", "ready", "answer", "fail", "gone", "left", "come", "back", "wait"]
FATES = ["said", "said", "unreached", "unsendable"]
Step = tuple[str, int, int, str]  # what, who, how much, and what becomes of what is to be said
STEPS = st.lists(
    st.tuples(st.sampled_from(WHAT), st.integers(0, 2), st.integers(0, 5), st.sampled_from(FATES)),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_whatever_happens_every_request_is_in_one_place(
    steps: list[Step],
) -> None:
    """Waiting, at one worker, or settled once; nobody is idle while something waits."""
    one = books(backlog=5, retries=2, patience=PATIENCE)
    now, tags = 0.0, [bytes(8)]
    for what, who, amount, fate in steps:
        name = b"%d" % who
        if what == "ask":
            one.hear_client(name, [ID, b"", b"job"], now)
        elif what == "ready":
            one.hear_worker(name, [b"", READY], now)
        elif what == "answer":
            one.hear_worker(name, [b"", tags[-1 - amount % len(tags)], b"answer"], now)
        elif what == "fail":
            one.hear_worker(name, [b"", FAILED, tags[-1 - amount % len(tags)], b"why"], now)
        elif what == "gone":
            one.worker_gone(name, now)
        elif what == "left":
            one.clients_here({name})
        elif what == "come":
            one.clients_here(CLIENTS)
        elif what == "back":
            one.workers_here({**dict.fromkeys(WORKERS, 1), name: amount}, now)
        elif what == "wait":
            now += PATIENCE * amount / 4
            one.expire(now)
        while (word := one.next_word()) is not None:
            tags += [word.frames[1]] if word.to_worker else []
            if fate == "unreached":
                one.unsaid(word, now)
            elif fate == "unsendable":
                one.unsendable(word, "too large", now)
            else:
                one.said(word)
        one.check()
    last = one.stats()
    assert min(vars(last).values()) >= 0
