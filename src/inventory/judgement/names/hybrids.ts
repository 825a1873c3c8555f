import type { Mention } from './name-mentions.js';

/** Hybrid is a combination of a classical and a post-quantum algorithm that is classified as one algorithm. */
export interface Hybrid {
  /** Name in TLS, SSH or HPKE; for a hybrid without such a name, the kind of the hybrid. */
  readonly name: string;
  readonly purpose: 'key-establishment' | 'signature';
  /** Parameter set of the post-quantum algorithm. */
  readonly param: string | null;
}

/** Hybrids with standard names, as written in rules and positions. */
const NAMED: readonly string[] = [
  'X25519MLKEM768',
  'SecP256r1MLKEM768',
  'SecP384r1MLKEM1024',
  'mlkem768x25519-sha256',
  'mlkem1024nistp384-sha384',
  'mlkem768nistp256-sha256',
  'X-Wing',
  'sntrup761x25519-sha512@openssh.com',
  'sntrup761x25519-sha512',
  'X25519Kyber768Draft00',
  'kyber768x25519',
];
const bare = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
const BY_BARE_NAME = new Map(NAMED.map((name) => [bare(name), name]));
/** Families that precede the NIST standards (such as FIPS 203 and 204) and do not interoperate with the standardized algorithms. */
const PRE_STANDARD = new Set(['Kyber', 'Dilithium', 'SPHINCS+', 'Falcon', 'NewHope']);
const STANDARD_KEM = 'ML-KEM';

/**
 * hybridOf returns the hybrid that the algorithms in a name form, in any order: a post-quantum KEM with a classical key exchange, or a post-quantum signature
 * with a classical signature. A broken algorithm does not form a hybrid, because only the other algorithm provides protection.
 */
export function hybridOf(name: string, mentions: readonly Mention[]): Hybrid | undefined {
  const post = mentions.filter(({ nature }) => nature === 'post-quantum');
  if (post.length === 0) return undefined;
  const classical = mentions.filter(({ nature }) => nature === 'classical');
  const apart = new Set([...post, ...classical].map(({ part }) => part));
  if (classical.length === 0 || apart.size > 1) return undefined;
  const known = BY_BARE_NAME.get(bare(name));
  const kem = post.find(({ role }) => role === 'exchange');
  if (kem !== undefined && classical.some(agrees))
    return {
      name: known ?? kindOfKem(kem),
      purpose: 'key-establishment',
      param: known === undefined ? kem.param : null,
    };
  const signature = post.find(({ role }) => role === 'sign');
  if (signature === undefined || !classical.some(signs)) return undefined;
  const name_ = PRE_STANDARD.has(signature.family) ? 'composite-signature-prestandard' : 'composite-signature';
  return { name: name_, purpose: 'signature', param: null };
}

function kindOfKem({ family }: Mention): string {
  if (family === STANDARD_KEM) return 'hybrid';
  return PRE_STANDARD.has(family) ? 'hybrid-prestandard' : 'hybrid-nonstandard';
}

function agrees({ role, purpose }: Mention): boolean {
  return role === 'exchange' || (role === 'key' && purpose !== 'signature');
}

function signs({ role, purpose }: Mention): boolean {
  return role === 'sign' || (role === 'key' && purpose !== 'encryption');
}

/** hybridFamily returns the family shown in lists: the standard name, or the kind of a hybrid without a standard name. */
export function hybridFamily(hybrid: string): string {
  return /^(?:hybrid|composite-signature)/.exec(hybrid)?.[0] ?? hybrid;
}
