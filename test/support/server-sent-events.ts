import { expect } from 'vitest';
import type { Service } from './service.js';

export interface ServerSentEvent {
  readonly name: string;
  readonly id: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- event data can have any shape
  readonly data: any;
}

/** A stream that is being read. */
export interface EventStream {
  /** Events received so far. */
  readonly heard: readonly ServerSentEvent[];
  /** All events, once the stream has ended. */
  readonly ended: Promise<readonly ServerSentEvent[]>;
}

/** Reads an event stream (HTML Living Standard, Server-sent events). */
export function listenTo(service: Service, path: string, by: string): EventStream {
  const heard: ServerSentEvent[] = [];
  return { heard, ended: readInto(heard, `${service.url}${path}`, by) };
}

async function readInto(heard: ServerSentEvent[], url: string, by: string): Promise<readonly ServerSentEvent[]> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${by}` } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  let rest = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    heard.push(...blocks.flatMap(eventOf));
  }
  return heard;
}

/** Parses an event; returns [] for a comment. */
function eventOf(block: string): ServerSentEvent[] {
  const lines = block.split('\n');
  const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const data = field('data');
  return data === undefined ? [] : [{ name: field('event') ?? '', id: field('id') ?? '', data: JSON.parse(data) }];
}
