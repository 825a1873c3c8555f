import type { FastifyRequest } from 'fastify';
import { isIPv6 } from 'node:net';
import { unmapped } from '../../formats/encoding/ip-address.js';
import { truncate } from '../text/truncate.js';

/** Origin is the source of a request, for audit entries and log lines. */
export interface Origin {
  /** X-Request-Id from the caller if it is well-formed, otherwise a generated ID. */
  readonly requestId: string;
  /** Client address as reported by trusted proxies. */
  readonly address: string;
  /** User-Agent of the client, truncated to 200 characters. Shown in the list of sessions. */
  readonly agent?: string;
}

export function originOf(request: FastifyRequest): Origin {
  return { requestId: request.id, address: request.ip, agent: agentOf(request) };
}

function agentOf({ headers }: FastifyRequest): string | undefined {
  const agent = headers['user-agent'];
  return agent === undefined ? undefined : truncate(agent, 200);
}

const GROUPS = 8;
/** Number of 16-bit groups in the network prefix. A customer has at least a /64 (RFC 6177) and can choose any address in that network (RFC 8981). */
const GROUPS_OF_NETWORK = 4;

/**
 * networkOf returns the network to which rate limits apply: an IPv4 address itself, also if mapped into IPv6, or the /64 of an IPv6 address. Other text is
 * returned unchanged.
 */
export function networkOf(address: string): string {
  const plain = unmapped(address).split('%')[0] ?? '';
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: Math.max(0, GROUPS - first.length - last.length) }, () => 0);
  const network = [...first, ...zeros, ...last].slice(0, GROUPS_OF_NETWORK);
  return `${network.map((group) => group.toString(16)).join(':')}::/64`;
}

/** Returns the groups as numbers. An IPv4 address at the end stands for two groups. */
function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}
