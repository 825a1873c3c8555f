import { expect } from 'vitest';
import type { Service } from './service.js';

export interface ServerSentEvent {
  readonly name: string;
  readonly id: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly data: any;
}

/** Reads a stream to its end, as the HTML Living Standard says. */
export async function eventsOf(service: Service, path: string, by: string): Promise<ServerSentEvent[]> {
  const response = await fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${by}` } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const blocks = (await response.text()).split('\n\n').map((block) => block.split('\n'));
  const field = (lines: string[], name: string) =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  return blocks.flatMap((lines) => {
    const data = field(lines, 'data');
    return data === undefined
      ? []
      : [{ name: field(lines, 'event') ?? '', id: field(lines, 'id') ?? '', data: JSON.parse(data) }];
  });
}
