"""One trace through a queue, a worker that tries twice, and a server behind it; by OpenTelemetry.

Run it: python examples/tracing.py
"""

import sys
import threading

import meshmsg as mm

try:
    from opentelemetry import baggage, context, trace
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from meshmsg import tracing
except ImportError:
    print("opentelemetry-sdk is not installed: pip install 'meshmsg[otel]' opentelemetry-sdk")
    sys.exit(0)


def serve(stock: mm.Rep, customers: list[object]) -> None:
    """The server behind: answers, within the trace of who asks."""

    for request in stock:
        with request, tracing.process(request, destination="stock"):
            customers.append(baggage.get_baggage("customer"))
            tracing.traced(request.reply, "stock")(b"3 left")


def work(pull: mm.Pull, stock_at: str) -> None:
    """The worker: what it asks the server is a part of the work on its message."""
    with mm.Req(connect=stock_at) as req:
        ask = tracing.traced(req.request, "stock")
        for message in pull:
            try:
                with message, tracing.process(message, destination="orders"):
                    if message == b"an order that needs two attempts":
                        if message.attempt == 1:
                            raise RuntimeError("not yet")
                    else:
                        ask(bytes(message), timeout=10)
            except RuntimeError:
                pass  # the span has it, and the message comes again


def path(spans: list[ReadableSpan], first: ReadableSpan) -> str:
    """All of one trace, in the order it was begun."""
    own = [span for span in spans if span.context.trace_id == first.context.trace_id]
    own.sort(key=lambda span: span.start_time or 0)
    return " > ".join(span.name + ", an error" * (not span.status.is_ok) for span in own)


def main() -> None:
    """Send two orders, and show what became of each."""
    kept = InMemorySpanExporter()  # in a program: an exporter to where your traces are
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    customers: list[object] = []
    with (
        mm.Push(bind="tcp://127.0.0.1:0", delivery="at_least_once") as push,
        mm.Pull(connect=push.endpoint, ack="manual") as pull,
        mm.Rep(bind="tcp://127.0.0.1:0") as stock,
    ):
        threads = [
            threading.Thread(target=serve, args=(stock, customers)),
            threading.Thread(target=work, args=(pull, stock.endpoint)),
        ]
        for thread in threads:
            thread.start()
        send = tracing.traced(push.send, "orders")
        token = context.attach(baggage.set_baggage("customer", "7"))
        send(b"an order")
        context.detach(token)
        send(b"an order that needs two attempts")
        push.drain(timeout=60).raise_for_loss()
        pull.close()
        stock.close()
        for thread in threads:
            thread.join()
    spans = list(kept.get_finished_spans())
    first, second = [span for span in spans if span.name == "send orders"]
    print(f"order: {path(spans, first)}")
    print(f"tried again: {path(spans, second)}")
    print(f"the customer came along as baggage: {customers == ['7']}")


if __name__ == "__main__":
    main()
