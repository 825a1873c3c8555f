import { base64Bytes } from '../../../formats/encoding/base64.js';
import type { ApiClient } from '../../api/api-client.js';
import { ClientError, EXIT } from '../../api/exit-codes.js';
import { type AskingProgram, agentMetadataOf, requestNameOf } from '../signer/agent-metadata.js';
import { APPROVAL_ENDS, type Patience } from '../signer/remote-signer.js';
import { AnsweredOrders, type JointOrder, type JointResult } from './noted-orders.js';

interface Item {
  readonly status: string;
  readonly requestId?: string;
  readonly signature?: string;
  readonly timestamp?: string;
  readonly key?: { readonly version: number };
  readonly approvalId?: string;
  readonly failure?: { readonly code: string; readonly detail: string };
}

interface Batch {
  readonly batchId: string;
  readonly status: 'PENDING' | 'DONE';
  readonly items: readonly Item[];
}

export interface BatchSettings {
  readonly asking: AskingProgram;
  /** Caller-defined reference for the requests. */
  readonly reference?: string | undefined;
  /** Time to wait for a decision. Default: until the approval expires. */
  readonly patience?: Patience | undefined;
  /** Signal that is aborted when the program is terminated. Pending approvals are then withdrawn. */
  readonly signal?: AbortSignal | undefined;
  /** Prints a line on the user's terminal. */
  note(line: string): void;
}

/** Maximum number of items in a batch, as set by the service. A batch has at most one approval. */
const MAX_ITEMS_PER_BATCH = 1000;
/** Maximum length of an item's command line, in characters. The service limits the metadata of a batch item to 1 KB. */
const MAX_COMMAND_LINE = 200;
const POLL_S = 30;
/** Maximum number of earlier batches with the same digests to skip because their approval was rejected, withdrawn or expired. */
const MAX_EARLIER = 20;

/**
 * signNoted requests signatures for orders with the same purpose, in batches of up to 1,000 orders per key. Each batch has one approval if the key requires
 * approval. Waits for decisions and adds the results to `answered`. For a day, the same orders yield the same batch, so an interrupted run can be continued.
 *
 * @throws ClientError (pending) if the approval was not decided in time
 */
export async function signNoted(
  api: ApiClient,
  orders: readonly JointOrder[],
  settings: BatchSettings,
  answered = new AnsweredOrders(),
): Promise<AnsweredOrders> {
  for (const group of byKey(orders))
    for (let at = 0; at < group.length; at += MAX_ITEMS_PER_BATCH) {
      const part = group.slice(at, at + MAX_ITEMS_PER_BATCH);
      const items = await batchOf(api, part, settings);
      part.forEach((order, index) => answered.add(order, resultOf(order, items[index])));
    }
  return answered;
}

async function batchOf(
  api: ApiClient,
  orders: readonly JointOrder[],
  settings: BatchSettings,
): Promise<readonly Item[]> {
  const [first] = orders;
  if (first === undefined) return [];
  const { note } = settings;
  const { key } = first;
  let batch = await submitted(api, bodyOf(first, orders, settings), key);
  if (batch.status === 'PENDING' && batch.items.some(({ status }) => status === 'PENDING_APPROVAL'))
    note(
      `sealwright: waiting for approval of ${orders.length} ${orders.length === 1 ? 'signature' : 'signatures'} with key ${key.name} (batch ${batch.batchId})`,
    );
  const until = performance.now() + (settings.patience?.seconds ?? Infinity) * 1000;
  while (batch.status === 'PENDING') {
    const left = Math.max(0, until - performance.now()) / 1000;
    if (left === 0 || settings.signal?.aborted === true) await giveUp(api, batch, settings);
    batch = await polled(api, batch, Math.min(POLL_S, Math.ceil(left)), settings.signal);
  }
  return batch.items;
}

function byKey(orders: readonly JointOrder[]): JointOrder[][] {
  const ids = new Set(orders.map(({ key }) => key.id));
  return [...ids].map((id) => orders.filter(({ key }) => key.id === id));
}

/** Returns the body of a batch. Options that all items share are set on the batch, other options on each item. */
function bodyOf(first: JointOrder, orders: readonly JointOrder[], { asking, reference }: BatchSettings): object {
  const { key, purpose } = first;
  const all = orders.map(optionsOf);
  const isCommon = ([name, value]: [string, unknown]): boolean => all.every((one) => one[name] === value);
  const common = Object.fromEntries(Object.entries(optionsOf(first)).filter(isCommon));
  const items = orders.map((order) => {
    const own = Object.entries(optionsOf(order)).filter((entry) => !isCommon(entry));
    const metadata = agentMetadataOf({ ...asking, fileName: order.fileName }, 'pkcs11', purpose ?? 'code-signing', MAX_COMMAND_LINE); // prettier-ignore
    return { digest: order.digest.toString('base64'), reference, metadata, ...Object.fromEntries(own) };
  });
  return { items, key: key.id, purpose, ...common };
}

function optionsOf({ algorithm, scheme, format, timestamp }: JointOrder): Record<string, unknown> {
  const given = { algorithm, scheme, format, timestamp };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

async function polled(api: ApiClient, batch: Batch, wait: number, signal: AbortSignal | undefined): Promise<Batch> {
  try {
    const path = `/api/v1/sign/batches/${batch.batchId}?wait=${wait}`;
    return await api.call('GET', path, signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted === true) return batch;
    throw error;
  }
}

/** Always throws. First withdraws the pending approvals, unless the caller can resume the wait. */
async function giveUp(api: ApiClient, { batchId, items }: Batch, { patience, signal }: BatchSettings): Promise<never> {
  if (signal?.aborted !== true && patience?.isResumable === true)
    throw new ClientError(EXIT.pending, `Not signed yet: batch ${batchId} was not approved or rejected within ${patience.seconds} seconds. Repeat the command to continue.`); // prettier-ignore
  const approvals = new Set(items.map(({ approvalId }) => approvalId).filter((id) => id !== undefined));
  for (const id of approvals)
    await api.call('POST', `/api/v1/approvals/${id}/withdraw`, { body: {}, repeatable: true }).catch(() => undefined);
  const why = signal?.aborted === true ? 'the program was terminated' : `it was not approved or rejected within ${patience?.seconds} seconds`; // prettier-ignore
  throw new ClientError(EXIT.failed, `Not signed: batch ${batchId} was withdrawn because ${why}.`);
}

/** Submits the orders. Returns the batch of an earlier run with the same orders, unless its approval was rejected, withdrawn or expired. */
async function submitted(api: ApiClient, body: object, key: JointOrder['key']): Promise<Batch> {
  let after: string | undefined;
  for (let turn = 0; ; turn += 1) {
    const headers = { 'idempotency-key': requestNameOf(body, key, after) };
    const batch: Batch = await api.call('POST', '/api/v1/sign/batch', { body, headers, repeatable: true });
    const wasNotApproved = batch.items.some(({ failure }) => APPROVAL_ENDS[failure?.code ?? ''] !== undefined);
    if (!wasNotApproved || turn === MAX_EARLIER) return batch;
    after = batch.batchId;
  }
}

function resultOf({ key }: JointOrder, item: Item | undefined): JointResult {
  const { signature, timestamp, requestId } = item ?? {};
  if (signature !== undefined && (key.version === undefined || item?.key?.version === key.version))
    return {
      kind: 'signed',
      signature: base64Bytes(signature),
      ...(requestId !== undefined && { requestId }),
      ...(timestamp !== undefined && { timestamp: base64Bytes(timestamp) }),
    };
  const { code = '', detail = `Key "${key.name}" was rotated. Run the command again.` } = item?.failure ?? {};
  return { kind: APPROVAL_ENDS[code] ?? 'refused', detail: code === '' ? detail : `${detail} [${code}]` };
}
