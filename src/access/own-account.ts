import { Problem } from '../platform/errors/problem.js';
import type { Caller } from './caller.js';

/** Only people, be it through a client that they let in. */
export function assertPerson({ kind }: Caller): void {
  if (kind === 'user') return;
  throw new Problem(
    'forbidden',
    'auth.person-needed',
    'This is for people: keys and clients are not asked who they are.',
  );
}

/** Only people who signed in at the service itself: an API key or a client's token cannot take an account over. */
export function assertOwnAccount(caller: Caller): void {
  if (caller.kind === 'user' && caller.session?.clientId === null) return;
  throw new Problem('forbidden', 'auth.person-needed', 'This is for people who signed in themselves.');
}
