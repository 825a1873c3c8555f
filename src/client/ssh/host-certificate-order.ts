import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCertificateLine } from '../../formats/ssh/certificate-reader.js';
import { readPublicKeyLine } from '../../formats/ssh/public-key.js';
import type { ApiClient } from '../api/api-client.js';
import { listAll } from '../api/pages.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { certificateOf, type HostCertificate, publicKeyOf } from './host-certificates.js';

const PAUSE_MS = 2000;
const DAY_MS = 24 * 3600 * 1000;
const LIFE_MS = 30 * DAY_MS;
const RENEWABLE_MS = 365 * DAY_MS;
/** Time by which validAfter is backdated, to tolerate clock skew. */
const BACKDATE_MS = 5 * 60 * 1000;

/** HostCertificateOrder describes the host key to certify, and the authority or login rule that certifies the key. */
export interface HostCertificateOrder {
  /** Path of the private host key. */
  readonly key: string;
  /** Name of the host authority. If undefined, the certificate is issued by a login rule, based on the claims of this machine's token. */
  readonly authority: string | undefined;
  /** Names of the host. If empty, the system's host name is used. */
  readonly names: readonly string[];
  readonly rule: string | undefined;
  /** Maximum time to wait for an approval, in seconds. */
  readonly seconds: number;
}

/** Reports whether a valid host certificate is stored next to the key. */
export async function isCertified(key: string, now = new Date()): Promise<boolean> {
  try {
    const { content } = await certificateOf(key);
    const own = readPublicKeyLine(await publicKeyOf(key));
    return own !== undefined && content.key.blob.equals(own.blob) && content.validBefore > now;
  } catch (error) {
    if (error instanceof ClientError) return false;
    throw error;
  }
}

/**
 * orderHostCertificate requests a certificate for a key of this host. For a year, a certificate of a named authority can be renewed with the key alone. Without
 * a named authority, the certificate is issued by a login rule.
 *
 * @throws ClientError if the request is refused
 */
export async function orderHostCertificate(api: ApiClient, order: HostCertificateOrder): Promise<HostCertificate> {
  const publicKey = await publicKeyOf(order.key);
  const headers = { 'idempotency-key': randomUUID() };
  if (order.authority === undefined) {
    if (order.names.length > 0)
      throw usageError('--names requires --authority. Without --authority, the login rule determines the names.');
    const body = { publicKey, kind: 'host', ...(order.rule === undefined ? {} : { rule: order.rule }) };
    const asked = (await api.call('POST', '/v1/ssh-login', { body, headers, repeatable: true })) as HostCertificate;
    return awaitCertificate(api, `/v1/ssh-login/${asked.id}`, asked, order.seconds);
  }
  const names = order.names.length > 0 ? order.names : [hostname()];
  const path = `/v1/ssh-ca/${await hostAuthorityId(api, order.authority)}/certificates`;
  const now = Date.now();
  const at = (ms: number): string => new Date(now + ms).toISOString();
  const terms = { validAfter: at(-BACKDATE_MS), validBefore: at(LIFE_MS), renewal: { until: at(RENEWABLE_MS) } };
  const body = { publicKey, keyId: names[0], principals: names, ...terms };
  const asked = (await api.call('POST', path, { body, headers, repeatable: true })) as HostCertificate;
  return awaitCertificate(api, `${path}/${asked.id}`, asked, order.seconds);
}

/** Waits until a certificate is issued or rejected, for at most `seconds`. */
export async function awaitCertificate(
  api: ApiClient,
  path: string,
  asked: HostCertificate,
  seconds: number,
): Promise<HostCertificate> {
  let found = asked;
  const until = performance.now() + seconds * 1000;
  while (found.status !== 'ISSUED' && found.status !== 'FAILED' && performance.now() < until) {
    await sleep(PAUSE_MS);
    found = (await api.call('GET', path)) as HostCertificate;
  }
  return found;
}

/** Returns a hint with the command that renews the certificate before it expires. The command is intended for a timer. */
export function renewalHint({ certificate, renewableUntil }: HostCertificate, key: string): string {
  const end = readCertificateLine(certificate)?.validBefore.toISOString().slice(0, 10) ?? '';
  const command =
    renewableUntil === undefined ? `sealwright ssh login --host --key ${key}` : `sealwright ssh renew ${key}`;
  return `The host certificate expires on ${end}. Run "${command}" from a daily timer, and reload sshd afterwards.`;
}

async function hostAuthorityId(api: ApiClient, name: string): Promise<string> {
  const all = await listAll<{ id: string; name: string; kind: string }>(api, '/v1/ssh-ca');
  const found = all.find((one) => one.name === name);
  if (found === undefined) throw new ClientError(EXIT.failed, `SSH authority "${name}" not found.`);
  if (found.kind === 'host') return found.id;
  throw usageError(`Authority "${name}" is for users. Specify an authority of kind host.`);
}
