import { propertyOf } from '../../model/asset-identity.js';
import { type CdxComponent, keptMember } from '../../model/document.js';
import { isMembers, memberTextOf } from '../../model/json.js';
import { SHOR_BREAKABLE } from '../vocabularies/families.js';
import type { AlgorithmUse } from '../../model/risk-subject.js';

/** Last day on which 112-bit keys are accepted (NIST IR 8547 ipd). `LAST_DAY` is the last day for all classical public keys. */
const LAST_DAY_112 = Date.parse('2030-12-31T23:59:59Z');
const LAST_DAY = Date.parse('2035-12-31T23:59:59Z');
const DAY = 24 * 3600 * 1000;
const NONE: readonly string[] = [];
/** Maximum validity period of a public TLS certificate in days, by issue date (CA/Browser Forum). */
const LIMITS: [from: string, days: number][] = [
  ['2029-03-15', 47],
  ['2027-03-15', 100],
  ['2026-03-15', 200],
  ['2020-09-01', 398],
];

/** CertificateTraits are the facts about a certificate that rules use. */
export interface CertificateTraits {
  /** Latest deadline that the certificate outlives: 0 none, 1 the end of 112-bit keys, 2 the end of all classical keys. */
  readonly outlives: 0 | 1 | 2;
  readonly isLongLived: boolean;
  readonly signsCode: boolean;
  /** Whether the validity period exceeds the maximum. True only for public TLS certificates. */
  readonly isTooLong: boolean;
  readonly isSelfSigned: boolean;
  /** Whether the certificate's key encrypts secrets, which can be recorded now and decrypted later. */
  readonly enciphers: boolean;
  /** All facts as a string. */
  readonly text: string;
}

const LONG_LIVED = ['ca', 'codeSigning', 'timeStamping'];

export function certificateTraits(component: CdxComponent): CertificateTraits {
  const facts = component.cryptoProperties?.certificateProperties ?? {};
  const end = timeOf(facts['notValidAfter']);
  const outlives = end > LAST_DAY ? 2 : end > LAST_DAY_112 ? 1 : 0;
  const purposes = propertyOf(component, 'sealwright:certificate-purposes')?.split(' ') ?? NONE;
  const isLongLived = purposes !== NONE && LONG_LIVED.some((purpose) => purposes.includes(purpose));
  const signsCode = purposes.includes('codeSigning');
  const isTooLong = purposes.includes('serverAuth') && !purposes.includes('ca') && isLongerThanAllowed(facts);
  const { subjectName, issuerName } = facts;
  const isSelfSigned = typeof subjectName === 'string' && subjectName !== '' && subjectName === issuerName;
  const usages = keyUsagesOf(component);
  const enciphers = usages !== '' && ENCIPHERING.test(usages.toLowerCase().replaceAll(/[^a-z]/g, ''));
  const text = `${Number(enciphers)}${outlives}${Number(isLongLived)}${Number(signsCode)}${Number(isTooLong)}${Number(isSelfSigned)}`;
  return { outlives, isLongLived, signsCode, isTooLong, isSelfSigned, enciphers, text };
}

/** certificateConditions returns the names of the time-independent conditions that a certificate with these algorithms meets, as used in rules. */
export function certificateConditions(
  { outlives, isLongLived, signsCode, isTooLong }: CertificateTraits,
  parts: readonly AlgorithmUse[],
): string[] {
  const conditions: string[] = [];
  const vulnerable = parts.filter(({ family }) => SHOR_BREAKABLE.has(family));
  if (vulnerable.some((part) => outlives > (is112Bit(part) ? 0 : 1))) conditions.push('outlives-its-key');
  if (isLongLived && vulnerable.length > 0) conditions.push('long-lived-signer');
  const shortRsa = parts.some(({ family, bits }) => family === 'RSA' && bits !== null && bits < 3072);
  if (signsCode && shortRsa) conditions.push('code-signing-rsa-below-3072');
  if (isTooLong) conditions.push('longer-than-allowed');
  return conditions;
}

const ENCIPHERING = /(?:key|data)encipherment/;
const EXTENSIONS = 'cryptoProperties.certificateProperties.certificateExtensions';

/**
 * Returns the key usages from a certificate that the service parsed, or from the certificate extensions in CycloneDX 1.7, where any separator may occur between
 * words.
 */
function keyUsagesOf(component: CdxComponent): string {
  const extensions = keptMember(component, EXTENSIONS);
  const stated = Array.isArray(extensions)
    ? extensions.filter(isMembers).find(({ commonExtensionName: name }) => name === 'keyUsage')
    : undefined;
  return propertyOf(component, 'sealwright:certificate-key-usages') ?? memberTextOf(stated?.['commonExtensionValue']);
}

function timeOf(fact: unknown): number {
  return Date.parse(String(fact));
}

function is112Bit({ bits, curveBits }: AlgorithmUse): boolean {
  return (bits !== null && bits < 3072) || (curveBits !== null && curveBits < 255);
}

function isLongerThanAllowed(facts: Record<string, unknown>): boolean {
  const notBefore = timeOf(facts['notValidBefore']);
  const limit = LIMITS.find(([from]) => notBefore >= Date.parse(from))?.[1];
  return limit !== undefined && timeOf(facts['notValidAfter']) - notBefore > limit * DAY;
}
