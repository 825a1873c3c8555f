import { Problem } from '../../platform/errors/problem.js';
import type { HostOffer } from './host-offer.js';

/**
 * Returns the code of a host fault, or undefined for other errors. Only `host.login-refused` means that the host rejected the login. After any other fault, a
 * later attempt might succeed.
 */
export function sshFaultCode(error: unknown): string | undefined {
  return error instanceof Problem && error.code.startsWith('host.') ? error.code : undefined;
}

export const unreachable = (cause?: unknown): Problem =>
  new Problem('unavailable', 'host.unreachable', 'The host does not respond at its address and port.', { cause });

export const throttled = (): Problem =>
  new Problem(
    'unavailable',
    'host.throttled',
    'The host closed the connection before sending any data. It may be rate-limiting new connections from this address.',
    { retryAfter: 60 },
  );

export const notSsh = (cause?: unknown): Problem =>
  new Problem('unavailable', 'host.not-ssh', 'The server at this address and port does not speak valid SSH.', {
    cause,
  });

export const timedOut = (what: string): Problem =>
  new Problem('unavailable', 'host.timeout', `The host did not respond in time: ${what}.`);

export const lost = (cause?: unknown): Problem =>
  new Problem('unavailable', 'host.lost', 'The connection to the host was lost.', { cause });

/** Converts an error that the SSH library reports before the login has succeeded to a Problem. */
export function faultBeforeLogin(error: Error & { level?: string }, bytesRead: number, offer: HostOffer): Problem {
  const { level, message } = error;
  if (level === 'client-authentication')
    return new Problem('refused', 'host.login-refused', `The host rejected the login.${offer.loginLead()}`, {
      cause: error,
    });
  if (level === 'client-timeout') return timedOut('the login did not finish');
  if (/no matching/i.test(message))
    return new Problem('refused', 'host.no-algorithm', offer.mismatch(message), { cause: error });
  if (level === 'client-socket' || level === 'client-dns') return bytesRead === 0 ? throttled() : lost(error);
  if (/lost before handshake|connection lost/i.test(message)) return bytesRead === 0 ? throttled() : lost(error);
  return notSsh(error);
}
