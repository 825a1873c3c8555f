import { base64Bytes } from '../../../formats/encoding/base64.js';
import type { ApiClient } from '../../api/api-client.js';
import { type AskingProgram, agentMetadataOf, requestNameOf } from '../signer/said-by-client.js';
import { APPROVAL_ENDS, type SignatureResult } from '../signer/remote-signer.js';
import { AnsweredOrders, type NotedOrder } from './noted-orders.js';

interface Item {
  readonly status: string;
  readonly signature?: string;
  readonly key?: { readonly version: number };
  readonly approvalId?: string;
  readonly failure?: { readonly code: string; readonly detail: string };
}

interface Batch {
  readonly batchId: string;
  readonly status: 'PENDING' | 'DONE';
  readonly items: readonly Item[];
}

interface BatchSettings {
  readonly asking: AskingProgram;
  /** Tells the person at the terminal. */
  note(line: string): void;
}

/** Of the service, for one batch: one approval. */
const MAX_ITEMS = 1000;
/** The service takes a kilobyte of metadata for each item of a batch. */
const MAX_COMMAND_LINE = 200;
const POLL_S = 30;
/** So many earlier batches of the same digests are looked at, each with an approval that ended without a yes. */
const MAX_EARLIER = 20;

/**
 * Has noted orders signed: those for one key and algorithm in batches of up to 1,000, each under one approval where the key needs it. Waits for
 * people. The same orders are the same batch for a day, so that a run that was ended while people were asked goes on with it.
 */
export async function signNoted(
  api: ApiClient,
  orders: readonly NotedOrder[],
  settings: BatchSettings,
): Promise<AnsweredOrders> {
  const answered = new AnsweredOrders();
  for (const group of groupsOf(orders))
    for (let at = 0; at < group.length; at += MAX_ITEMS) {
      const part = group.slice(at, at + MAX_ITEMS);
      const items = await batchOf(api, part, settings);
      part.forEach((order, index) => answered.add(order, resultOf(order, items[index])));
    }
  return answered;
}

/** Orders of one key and algorithm each: a batch has one of both. */
function groupsOf(orders: readonly NotedOrder[]): NotedOrder[][] {
  const groups = new Map<string, NotedOrder[]>();
  for (const order of orders) {
    const name = `${order.key.id} ${order.algorithm} ${order.scheme}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [order]);
    else group.push(order);
  }
  return [...groups.values()];
}

async function batchOf(
  api: ApiClient,
  orders: readonly NotedOrder[],
  { asking, note }: BatchSettings,
): Promise<readonly Item[]> {
  const [first] = orders;
  if (first === undefined) return [];
  const { key, algorithm, scheme, purpose } = first;
  const items = orders.map(({ digest, fileName }) => ({
    digest: digest.toString('base64'),
    metadata: agentMetadataOf({ ...asking, fileName }, 'pkcs11', purpose, MAX_COMMAND_LINE),
  }));
  const body = { items, key: key.id, algorithm, scheme, purpose };
  let batch = await submitted(api, body, key);
  if (batch.status === 'PENDING' && batch.items.some(({ status }) => status === 'PENDING_APPROVAL'))
    note(`sealwright: ${orders.length} signatures by the key ${key.name} wait for approval (batch ${batch.batchId})`);
  while (batch.status === 'PENDING') batch = await api.call('GET', `/api/v1/sign/batches/${batch.batchId}?wait=${POLL_S}`); // prettier-ignore
  return batch.items;
}

/** The batch of these orders: a new one, or that of an earlier run, unless people did not approve it. */
async function submitted(api: ApiClient, body: object, key: { id: string; version: number }): Promise<Batch> {
  let after: string | undefined;
  for (let turn = 0; ; turn += 1) {
    const headers = { 'idempotency-key': requestNameOf(body, key, after) };
    const batch: Batch = await api.call('POST', '/api/v1/sign/batch', { body, headers, repeatable: true });
    const wasNotApproved = batch.items.some(({ failure }) => APPROVAL_ENDS[failure?.code ?? ''] !== undefined);
    if (!wasNotApproved || turn === MAX_EARLIER) return batch;
    after = batch.batchId;
  }
}

function resultOf({ key }: NotedOrder, item: Item | undefined): SignatureResult {
  if (item?.signature !== undefined && item.key?.version === key.version)
    return { kind: 'signed', signature: base64Bytes(item.signature) };
  const { code = '', detail = `The key "${key.name}" was rotated: start again.` } = item?.failure ?? {};
  return { kind: APPROVAL_ENDS[code] ?? 'refused', detail: code === '' ? detail : `${detail} [${code}]` };
}
