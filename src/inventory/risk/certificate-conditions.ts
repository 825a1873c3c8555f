import { propertyOf } from '../ingest/asset-identity.js';
import type { CdxComponent } from '../ingest/draft.js';
import { SHOR_BREAKABLE } from './risk-engine.js';
import type { Ingredient } from './risk-subject.js';

/** NIST IR 8547 ipd: the last days of 112-bit keys, and of classical public keys altogether. */
const LAST_DAY_112 = Date.parse('2030-12-31T23:59:59Z');
const LAST_DAY = Date.parse('2035-12-31T23:59:59Z');
const DAY = 24 * 3600 * 1000;
const NONE: readonly string[] = [];
/** CA/B Forum: most days of validity of a public TLS certificate, by the day of issue. */
const LIMITS: [from: string, days: number][] = [
  ['2029-03-15', 47],
  ['2027-03-15', 100],
  ['2026-03-15', 200],
  ['2020-09-01', 398],
];

/** Conditions of a certificate that do not change as time goes by, by the names that rules use. */
export function certificateConditions(
  component: CdxComponent,
  facts: Record<string, unknown>,
  parts: readonly Ingredient[],
) {
  const conditions: string[] = [];
  const vulnerable = parts.filter(({ family }) => SHOR_BREAKABLE.has(family));
  if (vulnerable.length > 0 && timeOf(facts['notValidAfter']) > Math.min(...vulnerable.map(lastDayOf)))
    conditions.push('outlives-its-key');
  const purposes = propertyOf(component, 'sealwright:certificate-purposes')?.split(' ') ?? NONE;
  const longLived = ['ca', 'codeSigning', 'timeStamping'].some((purpose) => purposes.includes(purpose));
  if (longLived && vulnerable.length > 0) conditions.push('long-lived-signer');
  const shortRsa = parts.some(({ family, bits }) => family === 'RSA' && bits !== null && bits < 3072);
  if (purposes.includes('codeSigning') && shortRsa) conditions.push('code-signing-rsa-below-3072');
  if (purposes.includes('serverAuth') && !purposes.includes('ca') && isTooLong(facts))
    conditions.push('longer-than-allowed');
  const { subjectName, issuerName } = facts;
  return {
    conditions,
    selfSignedRoot: typeof subjectName === 'string' && subjectName !== '' && subjectName === issuerName,
  };
}

function timeOf(fact: unknown): number {
  return Date.parse(String(fact));
}

function lastDayOf({ bits, curveBits }: Ingredient): number {
  const is112Bit = (bits !== null && bits < 3072) || (curveBits !== null && curveBits < 255);
  return is112Bit ? LAST_DAY_112 : LAST_DAY;
}

function isTooLong(facts: Record<string, unknown>): boolean {
  const notBefore = timeOf(facts['notValidBefore']);
  const limit = LIMITS.find(([from]) => notBefore >= Date.parse(from))?.[1];
  return limit !== undefined && timeOf(facts['notValidAfter']) - notBefore > limit * DAY;
}
