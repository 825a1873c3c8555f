import type { OutboundAnswer } from './outbound-client.js';

/** Seconds that an answer asks to wait by Retry-After: a number, or a date (RFC 9110 section 10.2.3). NaN when it says neither. */
export function secondsAsked({ headers }: Pick<OutboundAnswer, 'headers'>): number {
  const asked = headers['retry-after'] ?? '';
  const seconds = Number(asked === '' ? Number.NaN : asked);
  return Number.isNaN(seconds) ? (Date.parse(asked) - Date.now()) / 1000 : seconds;
}
