import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import type { RowWatch } from '../database/row-watch.js';
import { isStillAuthorized } from './reauthorization.js';

/** Then the client comes again, with credentials that are looked at anew; EventSource does so by itself. */
const MAX_STREAM_MS = 60_000;
/** A comment keeps proxies from closing what they take for dead. */
const SILENCE_MS = 15_000;

export interface Followed<View> {
  readonly id: string;
  readonly view: View;
  /** Changes with the row; the id of the event. */
  readonly mark: string;
  readonly final: boolean;
}

/**
 * Answers server-sent events (HTML Living Standard, section 9.2): the row as it is, then again after each change, until it is final. An
 * event has the name `status`, the mark as its id and the view as JSON, which has no line breaks of its own. Before each, the caller's
 * right to it is looked at anew; without it the stream ends.
 */
export async function answerEvents<View>(
  reply: FastifyReply,
  watch: RowWatch,
  read: () => Promise<Followed<View>>,
): Promise<void> {
  const first = await read();
  void reply.header('content-type', 'text/event-stream; charset=utf-8').header('x-accel-buffering', 'no');
  await reply.send(Readable.from(eventsOf(first, watch, () => readmitted(reply, read))));
}

async function* eventsOf<View>(
  first: Followed<View>,
  watch: RowWatch,
  read: () => Promise<Followed<View> | undefined>,
): AsyncGenerator<string> {
  const end = performance.now() + MAX_STREAM_MS;
  let shown = first;
  yield `retry: 1000\n\n${eventOf(first)}`;
  while (!shown.final && !watch.isStopped && performance.now() < end) {
    await watch.wait(shown, Math.min(SILENCE_MS, end - performance.now()));
    const now = await read();
    if (now === undefined) return;
    yield now.mark === shown.mark ? ': still here\n\n' : eventOf(now);
    shown = now;
  }
}

async function readmitted<Found>(reply: FastifyReply, read: () => Promise<Found>): Promise<Found | undefined> {
  return (await isStillAuthorized(reply.request)) ? read() : undefined;
}

function eventOf<View>({ mark, view }: Followed<View>): string {
  return `event: status\nid: ${mark}\ndata: ${JSON.stringify(view)}\n\n`;
}
