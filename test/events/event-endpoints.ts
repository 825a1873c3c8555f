import { Webhook } from 'standardwebhooks';
import type { ReceivedCall, WebReceiver } from '../fakes/web-receiver.js';
import type { Answer, Service } from '../support/service.js';
import { unique } from '../approvals/approvers.js';

/** An event, as received by a webhook endpoint or as listed by the API. */
export interface SeenEvent {
  readonly id: string;
  readonly type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- event data can have any shape
  readonly data: any;
}

/** A webhook endpoint whose messages are received by the test. */
export interface TestEndpoint {
  readonly id: string;
  readonly path: string;
  readonly secret: string;
}

/** Settings that allow the service to send messages to the test. */
export const ALLOWED = { SVC_OUTBOUND_ALLOW: '127.0.0.1/32' };

/** Creates an endpoint with a unique path at the receiver. */
export function createEndpoint(
  service: Service,
  key: string,
  receiver: WebReceiver,
  events: string[],
  path = `/${unique('hook')}`,
): Promise<Answer> {
  const url = `http://127.0.0.1:${receiver.port}${path}`;
  return service.call('POST', '/api/webhooks', { key, body: { name: unique('endpoint'), url, events } });
}

export async function openEndpoint(
  service: Service,
  key: string,
  receiver: WebReceiver,
  events: string[],
): Promise<TestEndpoint> {
  const path = `/${unique('hook')}`;
  const { status, body } = await createEndpoint(service, key, receiver, events, path);
  if (status !== 201) throw new Error(`no endpoint was created: ${JSON.stringify(body)}`);
  return { id: body.id, path, secret: body.secret };
}

/** Verifies a message with the published library and returns its event. */
export function verified({ secret }: TestEndpoint, { body, headers }: ReceivedCall): SeenEvent {
  return new Webhook(secret).verify(body, headers as Record<string, string>) as SeenEvent;
}

/** Returns the events of all messages that an endpoint has received so far. */
export function eventsAt(receiver: WebReceiver, endpoint: TestEndpoint): SeenEvent[] {
  return receiver.received.filter(({ path }) => path === endpoint.path).map((call) => verified(endpoint, call));
}

/** Reads the feed from a position to the end. */
export async function readFeed(
  service: Service,
  key: string,
  { after, types, limit = 200 }: { after?: string; types?: string; limit?: number },
): Promise<{ events: SeenEvent[]; cursor: string; pages: number }> {
  const events: SeenEvent[] = [];
  let cursor = after;
  for (let pages = 1; ; pages += 1) {
    const query = new URLSearchParams({ limit: String(limit) });
    if (cursor !== undefined) query.set('after', cursor);
    if (types !== undefined) query.set('types', types);
    const { status, body } = await service.call('GET', `/api/v1/events?${query.toString()}`, { key });
    if (status !== 200) throw new Error(`the feed was not read: ${JSON.stringify(body)}`);
    events.push(...body.items);
    cursor = body.cursor as string;
    if (!body.more) return { events, cursor, pages };
  }
}

/** Returns the cursor at the end of the log. */
export async function latest(service: Service, key: string): Promise<string> {
  return (await readFeed(service, key, { after: 'latest' })).cursor;
}
