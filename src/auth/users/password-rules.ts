import { Problem } from '../../platform/http/problem.js';

export const SHORTEST = 12;
export const LONGEST = 128;

/** What passwords are made of most often; a password that is one of these with digits and signs around it is guessed first. */
const WORDS =
  /^(password|passwort|passw0rd|motdepasse|qwerty(uiop)?|qwertz(uiop)?|azerty(uiop)?|letmein|welcome|iloveyou|administrator|admin|changeme|secret|sealwright|monkey|dragon|sunshine|princess|football|baseball|superman|trustno1|starwars|whatever|correcthorsebatterystaple)+$/;
const RUNS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  '98765432109876543210',
];

/**
 * What a new password must not be. Length counts, kinds of characters do not (NIST SP 800-63B section 3.1.1.2);
 * refused are those that are tried first.
 */
export function assertGoodPassword(password: string, email: string): void {
  const fault = faultOf(password.normalize('NFC'), email);
  if (fault === undefined) return;
  throw new Problem('refused', 'password.weak', `This password cannot be used: ${fault}.`, {
    errors: [{ pointer: '/password', detail: fault }],
  });
}

function faultOf(password: string, email: string): string | undefined {
  const length = Array.from(password).length;
  if (length < SHORTEST) return `it must have at least ${SHORTEST} characters`;
  if (length > LONGEST) return `it must have at most ${LONGEST} characters`;
  const plain = password.toLowerCase();
  if (new Set(plain).size < 5) return 'it repeats few characters';
  if (WORDS.test(plain.replaceAll(/[^a-z]/g, '')) || WORDS.test(plain.replaceAll(/[\W_]/g, ''))) {
    return 'it is made of a word that is tried first';
  }
  if (RUNS.some((run) => run.includes(plain))) return 'it is a run along the keyboard';
  const name = email.split('@')[0] ?? '';
  const rest = plain.replaceAll(email, '').replaceAll(name.length >= 4 ? name : email, '');
  return rest.length < plain.length && rest.length < 8 ? 'it is mostly the e-mail address' : undefined;
}
