import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiOkResponse, ApiProduces } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import type { RowWatch } from '../database/row-watch.js';
import { Problem } from '../errors/problem.js';
import { OpenCalls } from './open-calls.js';
import { type AuthorizedRequest, isStillAuthorized } from './reauthorization.js';

/** After this time, clients must reconnect, so that their credentials are verified again. EventSource reconnects automatically. */
const MAX_STREAM_MS = 60_000;
/** Interval of comments, which keep proxies from closing an idle connection. */
const SILENCE_MS = 15_000;

/** MAX_STREAMS is the maximum number of open streams per caller and process. Each stream uses a connection and memory. */
const MAX_STREAMS = 100;
const RETRY_SECONDS = 10;

const open = new OpenCalls(MAX_STREAMS, (max) => {
  const detail = `You have ${max} open event streams, which is the limit. Close some of them, or poll the resource with ?wait=.`;
  return new Problem('overloaded', 'stream.too-many', detail, { retryAfter: RETRY_SECONDS });
});

export const EVENT_STREAM = Symbol('event stream');

/** EventStream marks a handler that responds with server-sent events (`answerEvents`). `what` is the name of the resource that each event contains. */
export const EventStream = (what: string, example: string): MethodDecorator =>
  applyDecorators(
    SetMetadata(EVENT_STREAM, true),
    ApiProduces('text/event-stream'),
    ApiOkResponse({
      schema: { type: 'string', example },
      description: `Server-sent events, each containing the ${what}`,
    }),
  );

export interface Followed<View> {
  readonly id: string;
  readonly view: View;
  /** State of the row, used as the ID of the event. */
  readonly mark: string;
  readonly final: boolean;
}

/**
 * answerEvents sends server-sent events (HTML Living Standard, section 9.2): the current row, then the row after each change until the row is final. Events
 * have the name `status`, the mark as ID, and the view as JSON without line breaks. Before each event, the caller is authorized again; if this fails, the
 * stream ends. Throws Problem `stream.too-many` if the caller has MAX_STREAMS open streams.
 */
export async function answerEvents<View>(
  reply: FastifyReply,
  watch: RowWatch,
  read: () => Promise<Followed<View>>,
): Promise<void> {
  const first = await read();
  const { principal = '' }: AuthorizedRequest = reply.request;
  const release = open.admit(principal);
  reply.raw.once('close', release);
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
