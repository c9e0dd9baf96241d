"""The table of faults: for each row what happens, what is promised, and the tests that show it.

docs/faults.md has the same rows (test_matrix.py). Rows are numbered as they were planned: F22
and F31 are of what is not there. Not here: the tests.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One fault."""

    fault: str
    promise: str
    tests: tuple[str, ...]


def _of(fault: str, promise: str, tests: str) -> Row:
    """Make a row; tests are `path::name`, or `::name` in the file before, under tests/."""
    found, path = [], ""
    for one in tests.split():
        file, _, name = one.partition("::")
        path = file or path
        if name:
            found.append(f"tests/{path}::{name}")
    return Row(fault, promise, tuple(found))


ROWS: dict[str, Row] = {
    "F1": _of(
        "a producer dies before its call returned",
        "the message is there whole, or not at all; put again with its `origin`, it is there once",
        """crash/test_spool_kill.py::test_what_was_kept_is_there
        crash/test_origins_kill.py::test_nothing_is_there_twice_and_nothing_is_lost
        c/test_spool_origins_crash.c::test_a_repeat_is_known_after_the_process_was_killed
        c/test_spool_crash.c::test_every_step_of_a_life_may_be_its_last
        ::test_a_process_that_stops_loses_nothing_that_was_written""",
    ),
    "F2": _of(
        "it dies with the message in its spool, and before it was sent",
        "its next life sends it, under the same `seq`",
        """fault/test_faults_crash.py
        ::test_f02_f03_a_message_keeps_its_name_whenever_its_producer_dies
        crash/test_push_spool_kill.py::test_order_holds_while_nobody_dies""",
    ),
    "F3": _of(
        "it dies with the message sent, and before it was acknowledged",
        "it comes again under the same `seq`; with a `DedupeWindow` it has its effect once",
        """fault/test_faults_crash.py
        ::test_f02_f03_a_message_keeps_its_name_whenever_its_producer_dies
        crash/test_push_spool_kill.py::test_a_producer_that_is_killed_loses_nothing
        ::test_without_a_window_they_would_do_things_twice""",
    ),
    "F4": _of(
        "it dies with the message acknowledged, and before its cursor was saved",
        "it comes again, and the window knows it",
        """fault/test_faults_crash.py::test_f04_what_was_done_and_not_noted_comes_again_and_is_known
        unit/test_spool_copy.py
        ::test_a_restored_copy_sends_what_was_not_acknowledged_by_its_name""",
    ),
    "F5": _of(
        "a worker dies before it did the work",
        "another one gets the message, at once as the connection ends, or after `ack_timeout`",
        """crash/test_workers.py::test_a_worker_that_dies_loses_nothing
        ::test_a_worker_that_is_killed_from_outside_loses_nothing
        unit/test_push_spool.py::test_a_lost_worker_gives_its_messages_to_another
        sim/test_ack_timeouts.py::test_who_does_nothing_loses_it_to_another_one""",
    ),
    "F6": _of(
        "it dies with the work done, and before it acknowledged",
        "the message comes again; its effect is once only in one transaction with the window",
        """crash/test_effects.py::test_a_worker_that_dies_does_nothing_twice
        ::test_workers_that_are_killed_from_outside_do_nothing_twice
        ::test_without_a_window_it_would""",
    ),
    "F7": _of(
        "it dies once its sender has the acknowledgement",
        "the message does not come again",
        "fault/test_faults_crash.py::test_f07_what_was_acknowledged_does_not_come_again",
    ),
    "F8": _of(
        "producer and worker die at once",
        "nothing that was kept is lost; with the window nothing is done twice",
        """fault/test_faults_crash.py
        ::test_f08_both_are_killed_at_once_and_nothing_is_lost_or_done_twice
        crash/test_push_spool_kill.py::test_producer_and_worker_are_killed_in_pairs""",
    ),
    "F9": _of(
        "a machine stops: what was not synced is lost, torn or out of order",
        "at `disk` nothing is lost that was said to be kept; at `os` only the newest messages are",
        """c/test_spool_crash.c::test_a_machine_that_stops_loses_nothing_that_was_durable
        ::test_so_does_one_whose_spool_syncs_now_and_then
        ::test_every_step_of_a_life_may_be_its_last
        c/test_spool_cuts.c::test_whatever_a_power_cut_loses_what_was_durable_is_there
        ::test_so_it_is_where_few_writes_are_synced
        c/test_spool_compact_crash.c::test_a_machine_that_stops_in_a_pass_leaves_the_old_or_the_new
        c/test_disk_log.c::test_each_flaw_is_caught_by_some_seed""",
    ),
    "F10": _of(
        "all machines stop at once",
        "the same: each spool and each cursor is right by its own disk alone",
        """c/test_spool_crash.c::test_a_machine_that_stops_loses_nothing_that_was_durable
        c/test_spool_lives.c::test_what_a_reader_sees_at_level_disk_survives_the_machine
        c/test_cursor_crash.c::test_whenever_the_machine_stops_it_says_what_was_saved
        crash/test_all_at_once.py::test_all_are_killed_at_once_and_nothing_is_lost""",
    ),
    "F11": _of(
        "the network is cut",
        "the spool takes what is sent up to its limits; then all goes out, in order",
        """fault/test_faults_network.py::test_f11_a_partition_fills_the_spool_which_drains_in_order
        ::test_f11_a_long_partition_loses_nothing_and_keeps_the_order
        sim/test_delivery_worlds.py::test_every_message_is_received_whatever_becomes_of_receivers
        sim/test_liveness.py::test_a_cut_that_ends_in_time_costs_a_stalled_peer_nothing
        ::test_an_idle_peer_whose_engine_hangs_is_noticed_in_time""",
    ),
    "F12": _of(
        "the network is cut in one direction: acknowledgements are lost",
        "no more than `prefetch` is on its way; it comes again, and the window knows it",
        "fault/test_faults_network.py::test_f12_lost_acknowledgements_are_bounded_and_absorbed",
    ),
    "F13": _of(
        "a connection is reset in the middle of a message",
        "no part of it is given out; it comes again, whole",
        """fault/test_faults_network.py::test_f13_a_reset_in_a_message_gives_out_no_part_of_it
        hostile/test_storms.py::test_an_unfinished_message_is_freed_however_its_sender_ends
        sim/test_cut_worlds.py::test_a_connection_may_end_at_each_write""",
    ),
    "F14": _of(
        "the host of a peer is gone, and nothing says so",
        "its heartbeat ends it, by default within 15 s, and another one gets its work",
        """fault/test_faults_network.py
        ::test_f14_a_peer_whose_host_is_gone_is_found_and_its_work_given_on
        sim/test_time_claims.py::test_a_half_open_peer_is_noticed_within_fifteen_seconds
        sim/test_liveness.py
        ::test_a_host_that_is_gone_is_noticed_in_time_also_behind_unread_messages""",
    ),
    "F15": _of(
        "the disk is full",
        "`SpoolFullError`, or what `overflow=` says; what is there is read and acknowledged, and "
        "with room again all goes on",
        """fault/test_faults_disk.py::test_f15_a_full_disk_is_told_and_gone_on_from
        c/test_spool_log.c::test_a_full_disk_refuses_and_then_goes_on
        c/test_spool_full.c::test_a_spool_that_was_killed_on_a_full_disk_opens
        ::test_an_opening_on_a_full_disk_may_be_cut_off_anywhere
        ::test_a_state_that_is_harmed_is_made_again_on_a_full_disk
        c/test_cursor_crash.c::test_a_full_disk_stops_no_cursor
        c/test_spool_compact_crash.c::test_a_full_disk_ends_the_pass
        unit/test_spool_told.py::test_a_full_disk_is_told_as_that""",
    ),
    "F16": _of(
        "a write or a sync fails",
        "`SpoolFailedError`, and nothing more is kept; opened again it has all that was durable",
        """fault/test_faults_calls.py::test_f16_whichever_call_fails_what_was_kept_is_there
        c/test_spool_crash.c::test_the_nth_call_that_fails_ends_it
        ::test_the_nth_call_of_an_opening_that_fails_costs_nothing
        ::test_a_disk_that_fails_now_and_then_loses_nothing_that_was_durable
        c/test_disk_faults.c::test_after_a_failed_sync_the_next_says_ok_and_it_may_all_be_gone
        c/test_cursor_crash.c::test_so_it_does_on_a_disk_that_fails
        unit/test_push_spool_lost.py::test_a_cursor_that_cannot_be_saved_stops_it""",
    ),
    "F17": _of(
        "a bit of a file turns",
        "it is told, or does no harm; no other message is read in its place",
        """c/test_spool_harm.c::test_a_bit_that_turns_is_told_or_does_no_harm
        c/test_spool_format.c::test_each_bit_of_the_head_of_a_file_counts
        ::test_each_bit_of_a_batch_and_of_the_salt_counts_and_so_does_each_octet
        unit/test_spool_harm.py::test_each_octet_of_a_message_counts
        c/test_cursor_crash.c::test_bits_that_turn_make_it_older_or_none_and_never_ahead
        c/test_spool_unread.c::test_a_reader_is_told_what_a_sector_takes""",
    ),
    "F18": _of(
        "a file is cut, missing, swapped, of another spool, or from before",
        "it is told, or what was acknowledged comes again; a file of a strange name is left alone",
        """c/test_spool_harm.c::test_a_file_that_is_cut_anywhere_is_told
        ::test_a_file_that_is_gone_is_told
        ::test_a_file_of_another_place_is_told
        c/test_spool_missing.c::test_a_sealed_file_that_is_missing_is_harm_of_its_numbers
        unit/test_spool_missing.py::test_a_push_stops_before_it
        c/test_spool_found.c::test_the_last_file_of_another_spool_is_told
        ::test_the_first_file_of_another_spool_is_told
        fault/test_faults_disk.py::test_f18_a_file_from_before_is_told
        ::test_f18_a_file_that_is_not_of_it_does_no_harm
        unit/test_spool_copy.py::test_a_copy_whose_state_is_newer_than_its_messages_is_told
        unit/test_spool_cursor_file.py::test_a_cursor_of_another_spool_is_refused""",
    ),
    "F19": _of(
        "a disk lost a write that it said it had, or put it elsewhere",
        "it is told as it is read, but for the very last writes before a kill",
        """fault/test_faults_disk.py::test_f19_a_sector_that_is_not_what_was_written_is_told
        c/test_spool_astray.c::test_a_write_that_is_lost_is_told_of
        ::test_so_is_one_that_is_elsewhere_in_its_file
        ::test_so_is_one_that_is_in_another_file""",
    ),
    "F20": _of(
        "the wall clock jumps",
        "numbers and order stay; by its age half of a spool at most goes at once; waits and leases "
        "do not notice",
        """c/test_spool_log.c::test_a_clock_that_jumps_as_it_is_written_changes_no_number
        c/test_spool_keep.c::test_a_clock_that_jumps_does_not_empty_it
        ::test_leases_hold_the_lowest_until_they_are_over
        c/test_spool_sweep.c::test_a_clock_that_jumps_is_told_of_and_half_is_kept
        fault/test_faults_clock.py::test_f20_a_delay_is_as_long_as_it_was_to_be
        fault/test_faults_disk.py::test_f20_a_clock_that_was_years_off_changes_no_order
        sim/test_time_claims.py::test_a_wall_clock_that_jumps_disturbs_nothing""",
    ),
    "F21": _of(
        "a worker is stopped, and goes on later",
        "another one gets its messages; its late acknowledgement of them counts for nothing, and "
        "is counted (`stale_acks`)",
        """fault/test_faults_still.py
        ::test_f21_a_late_acknowledgement_of_a_stopped_worker_counts_for_nothing
        crash/test_workers.py::test_a_worker_that_is_stopped_loses_nothing_and_may_go_on
        crash/test_effects.py::test_a_worker_that_is_stopped_and_goes_on_does_nothing_twice
        sim/test_late_acks.py::test_it_counts_for_nothing_once_somebody_else_has_the_message""",
    ),
    "F23": _of(
        "a consumer is slow",
        "it costs the memory of its queue; what has no room waits, is dropped and counted, or is "
        "in the spool; others get all",
        """fault/test_faults_still.py
        ::test_f23_a_slow_subscriber_costs_its_queue_and_nobody_else_anything
        unit/test_push_spool_fates.py::test_a_huge_backlog_takes_no_memory
        unit/test_replay.py::test_one_that_is_too_slow_for_what_comes_reads_it_from_the_spool
        ::test_many_are_behind_at_once_and_a_slow_one_holds_up_nobody
        sim/test_delivery_worlds.py::test_a_stuck_receiver_has_no_more_than_its_prefetch
        sim/test_overflow_exact.py::test_any_queue_agrees_with_a_plain_model_of_it""",
    ),
    "F24": _of(
        "a node of a mesh gets another address, or starts again at another one",
        "who follows it is connected there as the mesh tells of it, and goes on where it was",
        """fault/test_faults_moved.py
        ::test_f24_a_worker_whose_address_changes_is_followed_and_gets_all
        ::test_f24_a_worker_that_starts_again_at_another_address_gets_the_rest
        ::test_f24_a_publisher_that_starts_again_elsewhere_is_followed_from_the_cursor
        mesh/test_mesh_moves.py
        ::test_what_the_one_before_had_and_did_not_do_comes_to_the_new_one""",
    ),
    "F25": _of(
        "a peer comes back with an empty disk, under the same name and address",
        "it is another one: no message of it is taken for known, and a replay begins anew",
        """fault/test_faults_crash.py::test_f25_a_producer_that_lost_its_disk_is_another_one
        unit/test_push_spool.py::test_two_spools_have_no_name_in_common
        unit/test_replay.py::test_a_spool_of_another_publisher_begins_as_was_asked""",
    ),
    "F26": _of(
        "two go on from one: a fork, a copy of a spool, two peers of one name",
        "a fork's child is refused; a copy names what is new by names of its own; of two peers "
        "of a name one is refused",
        """unit/test_push_spool.py::test_a_copy_of_a_spool_gives_its_messages_names_of_their_own
        unit/test_spool_life.py::test_a_forked_child_harms_nothing
        ::test_a_spool_is_open_once
        unit/test_push_spool_odd.py::test_in_the_child_of_a_fork_nothing_works_and_nothing_is_harmed
        unit/test_ranges_lives.py
        ::test_a_spool_in_an_earlier_life_than_the_one_told_is_a_copy_from_before
        sim/test_request_claims.py::test_a_second_peer_of_the_same_name_is_refused_or_takes_over""",
    ),
    "F27": _of(
        "a program holds the interpreter's lock for long",
        "its engine answers heartbeats meanwhile: no socket takes it for dead; a node of a mesh is "
        "UNREACHABLE after more than a second, which ends no connection, and UP as it goes on",
        """fault/test_faults_still.py::test_f27_a_held_interpreter_is_no_dead_peer
        mesh/test_mesh_held.py
        ::test_f27_a_node_whose_interpreter_is_held_is_unreachable_and_comes_back""",
    ),
    "F28": _of(
        "a program closes, or ends, with much still to be sent",
        "`linger` is kept to, the end is bounded, and what was lost is said with its number",
        """fault/test_leaving.py::test_what_is_still_queued_at_exit_is_said_with_its_number
        ::test_a_peer_that_never_reads_does_not_keep_a_program_from_ending
        fault/test_processes.py::test_a_program_with_live_sockets_ends_by_itself
        sim/test_time_claims.py::test_what_is_queued_has_its_linger_to_go_out_after_close
        unit/test_closing_orders.py
        ::test_closing_during_a_stall_abandons_what_the_linger_does_not_cover""",
    ),
    "F29": _of(
        "there is no memory",
        "the call says so, or a peer is lost; nothing is lost without a word, and nothing aborts",
        """sim/test_no_memory.py::test_whichever_allocation_fails_nothing_is_lost_without_a_word
        fault/test_faults_memory.py
        ::test_f29_a_spool_without_memory_says_so_and_keeps_what_it_said_it_had
        c/test_no_memory.c::test_no_memory_at_any_point_of_getting_connected
        ::test_no_memory_at_any_point_of_a_flow_loses_nothing_uncounted
        c/test_cursor_crash.c::test_without_memory_nothing_is_marked
        c/test_spool_compact_crash.c::test_without_memory_a_pass_ends_or_is_done_in_parts""",
    ),
    "F30": _of(
        "there is no descriptor to accept a peer with",
        "it waits and is accepted later; who was there does not notice; nothing turns in circles",
        """fault/test_processes.py::test_out_of_descriptors_accepting_pauses_and_goes_on
        fault/test_faults_still.py::test_f30_who_cannot_be_accepted_waits_and_costs_next_to_nothing
        c/test_syscalls.c::test_an_accept_that_fails_says_whether_to_pause_or_to_skip""",
    ),
    "F32": _of(
        "a file is of another version",
        "it is refused, as what it is",
        """c/test_spool_format.c::test_a_head_that_is_of_another_version_or_says_what_cannot_be
        c/test_cursor_format.c::test_what_is_not_known_is_refused_and_not_left_out""",
    ),
    "F33": _of(
        "Spark loses a task, an executor or its driver",
        "what was read is read again by the same offsets, and the table has each message once; "
        "what was written is written again by the same names, and a window has it once",
        """spark/test_kill.py::test_workers_that_are_killed_read_again_and_lose_nothing
        ::test_a_driver_that_is_killed_goes_on_from_its_checkpoint
        ::test_a_driver_that_is_killed_in_its_first_batch_leaves_it_to_the_next_one
        spark/test_cluster.py
        ::test_an_executor_that_is_killed_is_replaced_and_nothing_is_lost_or_twice
        ::test_pairs_that_are_killed_in_a_cluster_leave_each_message_once
        spark/test_campaign.py::test_a_table_has_each_message_once_whoever_is_killed
        spark/test_sink_kill.py
        ::test_a_receiver_with_a_window_has_each_row_once_whoever_is_killed""",
    ),
}


def page_rows() -> list[str]:
    """The rows of the table of docs/faults.md."""
    found = []
    for name, row in ROWS.items():
        more = f", {len(row.tests) - 1} more" if len(row.tests) > 1 else ""
        found.append(f"| {name} | {row.fault} | {row.promise} | `{row.tests[0]}`{more} |")
    return found


if __name__ == "__main__":
    print(*page_rows(), sep="\n")
