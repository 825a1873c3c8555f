import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import type { RowWatch } from '../database/row-watch.js';
import { Problem } from '../errors/problem.js';
import { type AuthorizedRequest, isStillAuthorized } from './reauthorization.js';

/** Then the client comes again, with credentials that are looked at anew; EventSource does so by itself. */
const MAX_STREAM_MS = 60_000;
/** A comment keeps proxies from closing what they take for dead. */
const SILENCE_MS = 15_000;

/** MAX_STREAMS is the number of streams that one caller may have open at a time in one process. Each keeps a connection and memory. */
const MAX_STREAMS = 100;
const RETRY_SECONDS = 10;

/** Open streams by caller. */
const open = new Map<string, number>();

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
 * right to it is looked at anew; without it the stream ends. Problem `stream.too-many` for a caller with MAX_STREAMS open streams.
 */
export async function answerEvents<View>(
  reply: FastifyReply,
  watch: RowWatch,
  read: () => Promise<Followed<View>>,
): Promise<void> {
  const first = await read();
  const release = admit(reply.request);
  reply.raw.once('close', release);
  void reply.header('content-type', 'text/event-stream; charset=utf-8').header('x-accel-buffering', 'no');
  await reply.send(Readable.from(eventsOf(first, watch, () => readmitted(reply, read))));
}

/** Counts a stream of the caller. Returns the function that ends it. */
function admit({ principal = '' }: AuthorizedRequest): () => void {
  const count = open.get(principal) ?? 0;
  if (count >= MAX_STREAMS) {
    const detail = `You have ${count} event streams open, which is the limit. Close some, or poll the resource with ?wait=.`;
    throw new Problem('overloaded', 'stream.too-many', detail, { retryAfter: RETRY_SECONDS });
  }
  open.set(principal, count + 1);
  return () => {
    const left = (open.get(principal) ?? 1) - 1;
    if (left === 0) open.delete(principal);
    else open.set(principal, left);
  };
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
