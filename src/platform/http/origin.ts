import type { FastifyRequest } from 'fastify';
import { isIPv6 } from 'node:net';
import { unmapped } from '../../formats/addresses/address.js';
import { truncate } from '../text/truncate.js';

/** Origin of a call, for audit entries and log lines. */
export interface Origin {
  /** X-Request-Id of the call: the caller's, when it is well formed, else one of ours. */
  readonly requestId: string;
  /** Address of the client as reported by trusted proxies. */
  readonly address: string;
  /** User-Agent of the client, cut to 200 characters; shown in the list of sessions. */
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
/** Four groups of 16 bits: one customer has a /64 at least (RFC 6177), and chooses freely among its addresses (RFC 8981). */
const GROUPS_OF_NETWORK = 4;

/**
 * Answers the network that limits count for an address: an IPv4 address itself, be it mapped into IPv6, and the /64 of an IPv6 address.
 * Other texts are answered as they are.
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

/** Groups as numbers; an IPv4 address at the end stands for two. */
function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}
