import {
  type Algorithm,
  type SensorFinding,
  type FindingPlace,
  protocolHere,
  tlsVersion,
  usedHere,
} from '../model/finding.js';
import { onCurve, rsa } from '../model/key-algorithm.js';
import { type Detector, fileLinesOf } from './detector.js';
import { truncate } from '../../../platform/text/truncate.js';

/** Used is the cryptography that a call uses: an algorithm, or a TLS version. */
export type Used = { readonly algorithm: Algorithm } | { readonly tls: string } | undefined;

export interface SourceRule {
  /** Matches the names of files to which the rule applies. */
  readonly files: RegExp;
  /** Matches the call, with the flag `g`. The symbol of the finding is the matched text before the first bracket. */
  readonly call: RegExp;
  readonly used: (groups: readonly (string | undefined)[]) => Used;
}

const JAVA = /\.(?:java|kt|kts|scala|groovy)$/;
const PYTHON = /\.pyi?$/;
const SCRIPT = /\.(?:[cm]?[jt]s|[jt]sx|vue)$/;
const GO = /\.go$/;
const C = /\.(?:c|h|cc|cpp|cxx|hpp|m|mm)$/;
const SHARP = /\.(?:cs|vb|fs)$/;
const PHP = /\.(?:php|phtml)$/;
const RUBY = /\.(?:rb|rake)$/;
const RUST = /\.rs$/;

const made =
  (primitive: string) =>
  (name: string): Used => ({ algorithm: { name, properties: { primitive } } });
const hash = made('hash');
const cipher = made('block-cipher');
const mac = made('mac');
const signature = made('signature');
const kdf = made('kdf');
const upper = (name: string) => name.toUpperCase().replaceAll('_', '-');
const first =
  (make: (name: string) => Used) =>
  ([name]: readonly (string | undefined)[]) =>
    name === undefined ? undefined : make(upper(name));
const always = (used: Used) => () => used;
const rsaOf = ([bits]: readonly (string | undefined)[]): Used => ({
  algorithm: bits === undefined ? { name: 'RSA', properties: { primitive: 'unknown' } } : rsa(Number(bits)),
});
const curveOf = ([name]: readonly (string | undefined)[]): Used => {
  const bits = /^P-?(256|384|521)$/i.exec(name ?? '')?.[1];
  return { algorithm: onCurve(bits === undefined ? (name ?? '').toLowerCase() : `secp${bits}r1`) };
};
const tlsOf = ([word]: readonly (string | undefined)[]): Used => (word === undefined ? undefined : { tls: word });

const JAVA_KINDS: Readonly<Record<string, (name: string) => Used>> = {
  Cipher: cipher,
  MessageDigest: hash,
  Mac: mac,
  Signature: signature,
  KeyPairGenerator: made('unknown'),
  KeyGenerator: cipher,
  KeyAgreement: made('key-agree'),
  SecretKeyFactory: kdf,
  SecureRandom: made('drbg'),
};
/** Returns the cryptography of a Java call. In `AES/CBC/PKCS5Padding`, the mode remains part of the name, so that rules can match the mode. */
const javaCall = ([kind = '', name = '']: readonly (string | undefined)[]): Used =>
  kind === 'SSLContext' ? tlsOf([name]) : JAVA_KINDS[kind]?.(name.replaceAll('/', '-'));

const rule = (files: RegExp, call: RegExp, used: SourceRule['used']): SourceRule => ({ files, call, used });

const SOURCE_RULES: readonly SourceRule[] = [
  rule(
    JAVA,
    /\b(Cipher|MessageDigest|Mac|Signature|KeyPairGenerator|KeyGenerator|KeyAgreement|SecretKeyFactory|SecureRandom|SSLContext)\.getInstance\(\s*"([\w./+-]{2,60})"/g,
    javaCall,
  ),
  rule(JAVA, /\bDigestUtils\.(md5|sha1|sha256|sha384|sha512)(?:Hex)?\(/g, first(hash)),

  rule(PYTHON, /\bhashlib\.(md5|sha1|sha224|sha256|sha384|sha512|sha3_\d{3}|blake2[bs])\b/g, first(hash)),
  rule(PYTHON, /\bhashlib\.new\(\s*["']([\w-]{2,20})/g, first(hash)),
  rule(PYTHON, /\bhashes\.(MD5|SHA1|SHA224|SHA256|SHA384|SHA512|SHA3_\d{3})\(/g, first(hash)),
  rule(
    PYTHON,
    /\b(AES|DES3?|ARC[24]|Blowfish|CAST|ChaCha20(?:_Poly1305)?)\.new\((?:[^()\n]{0,80}?MODE_([A-Z]{3}))?/g,
    ([name = '', mode]) => cipher(`${name === 'DES3' ? '3DES' : upper(name)}${mode === undefined ? '' : `-${mode}`}`),
  ),
  rule(PYTHON, /\balgorithms\.(AES|TripleDES|ARC4|Blowfish|IDEA|CAST5|SEED|Camellia|ChaCha20)\(/g, ([name = '']) =>
    cipher(name === 'TripleDES' ? '3DES' : upper(name)),
  ),
  rule(PYTHON, /\brsa\.generate_private_key\([^)]{0,120}?key_size\s*=\s*(\d{3,5})/g, rsaOf),
  rule(PYTHON, /\bRSA\.generate\(\s*(\d{3,5})/g, rsaOf),
  rule(PYTHON, /\bec\.(SECP\w{3,8}|BrainpoolP\w{3,8})\(/g, curveOf),
  rule(PYTHON, /\bssl\.PROTOCOL_((?:TLSv1|SSLv)[_\d]*)\b/g, tlsOf),

  rule(SCRIPT, /\bcreateHash\(\s*["'`]([\w-]{2,20})/g, first(hash)),
  rule(
    SCRIPT,
    /\bcreateHmac\(\s*["'`]([\w-]{2,20})/g,
    first((name) => mac(`HMAC-${name}`)),
  ),
  rule(SCRIPT, /\bcreate(?:Cipher|Decipher)(?:iv)?\(\s*["'`]([\w-]{2,30})/g, first(cipher)),
  rule(SCRIPT, /\bcreate(?:Sign|Verify)\(\s*["'`]([\w-]{2,30})/g, first(signature)),
  rule(
    SCRIPT,
    /\bgenerateKeyPair(?:Sync)?\(\s*["'`]rsa(?:-pss)?["'`](?:[^)]{0,80}?modulusLength:\s*(\d{3,5}))?/g,
    rsaOf,
  ),
  rule(
    SCRIPT,
    /\bgenerateKeyPair(?:Sync)?\(\s*["'`](ed25519|ed448|x25519|dsa|ml-dsa-\d\d|ml-kem-\d+)["'`]/g,
    first(made('unknown')),
  ),
  rule(
    SCRIPT,
    /\bpbkdf2(?:Sync)?\([^)]{0,160}?["'`](md5|sha1|sha256|sha384|sha512)["'`]/g,
    first((name) => kdf(`PBKDF2-${name}`)),
  ),
  rule(SCRIPT, /\bCryptoJS\.(MD5|SHA1|SHA256|SHA512|RIPEMD160)\(/g, first(hash)),
  rule(SCRIPT, /\bCryptoJS\.(AES|DES|TripleDES|RC4|Rabbit)\.(?:en|de)crypt\(/g, ([name = '']) =>
    cipher(name === 'TripleDES' ? '3DES' : upper(name)),
  ),

  rule(GO, /\b(md5|sha1|sha256|sha512)\.(?:New\w*|Sum\w*)\(/g, first(hash)),
  rule(GO, /\bdes\.NewTripleDESCipher\(/g, always(cipher('3DES'))),
  rule(GO, /\b(des|aes|rc4|blowfish)\.NewCipher\(/g, first(cipher)),
  rule(GO, /\brsa\.GenerateKey\([^,()]{1,40},\s*(\d{3,5})/g, rsaOf),
  rule(GO, /\b(?:elliptic|ecdh)\.(P(?:256|384|521))\(\)/g, curveOf),
  rule(GO, /\b(ed25519)\.GenerateKey\(/g, first(signature)),
  rule(GO, /\btls\.Version(TLS1\d|SSL30)\b/g, ([word = '']) => ({
    tls: word === 'SSL30' ? 'SSLv3' : `TLSv1.${word.slice(-1)}`,
  })),

  rule(C, /\bEVP_(md5|sha1|sha\d{3}|sha3_\d{3}|ripemd160)\s*\(/g, first(hash)),
  rule(
    C,
    /\bEVP_(aes_\d{3}_\w{3,12}|des_\w{3,12}|rc[24]\w{0,8}|bf_\w{3}|chacha20\w{0,9}|camellia_\w{3,12})\s*\(/g,
    first(cipher),
  ),
  rule(C, /\b(MD5|SHA1|SHA256|SHA512)_Init\s*\(/g, first(hash)),
  rule(C, /\b(DES|RC4|AES)_set_(?:key|encrypt_key|decrypt_key)\w*\s*\(/g, first(cipher)),
  rule(
    C,
    /\b(?:RSA_generate_key(?:_ex)?\s*\([^,()]{0,40},\s*|RSA_generate_key\s*\(\s*|EVP_RSA_gen\s*\(\s*)(\d{3,5})/g,
    rsaOf,
  ),
  rule(C, /\bEC_KEY_new_by_curve_name\s*\(\s*NID_(\w{4,24})/g, ([name]) =>
    curveOf([name === 'X9_62_prime256v1' ? 'P256' : name]),
  ),
  rule(C, /\b(TLSv1(?:_[12])?|SSLv3)_(?:client_|server_)?method\s*\(/g, tlsOf),

  rule(
    SHARP,
    /\b(MD5|SHA1|SHA256|SHA384|SHA512)(?:CryptoServiceProvider|Managed|Cng)?(?:\.Create|\.HashData|)\(/g,
    first(hash),
  ),
  rule(
    SHARP,
    /\b(Aes|DES|TripleDES|RC2|Rijndael)(?:CryptoServiceProvider|Managed|Cng|Gcm)?(?:\.Create)?\(/g,
    ([name = '']) => cipher(name === 'TripleDES' ? '3DES' : name === 'Rijndael' ? 'AES' : upper(name)),
  ),
  rule(SHARP, /\bRSA(?:CryptoServiceProvider|Cng|\.Create)\(\s*(\d{3,5})?/g, rsaOf),
  rule(SHARP, /\b(HMAC(?:MD5|SHA\d{1,3}))\(/g, first(mac)),
  rule(SHARP, /\bSslProtocols\.(Tls1?[123]?|Ssl[23])\b/g, ([word = '']) => ({
    tls: word.startsWith('Ssl') ? `SSLv${word.slice(-1)}` : `TLSv1.${/\d$/.exec(word) === null ? '0' : word.slice(-1)}`,
  })),

  rule(PHP, /(?<![\w>:$])(md5|sha1)(?:_file)?\s*\(/g, first(hash)),
  rule(PHP, /\bhash\(\s*["']([\w/-]{2,20})/g, first(hash)),
  rule(
    PHP,
    /\bhash_hmac\(\s*["']([\w/-]{2,20})/g,
    first((name) => mac(`HMAC-${name}`)),
  ),
  rule(PHP, /\bopenssl_(?:en|de)crypt\([^,]{1,80},\s*["']([\w-]{2,30})/g, first(cipher)),
  rule(PHP, /\bMCRYPT_(DES|3DES|TRIPLEDES|RIJNDAEL_\d{3}|BLOWFISH|ARCFOUR|RC2)\b/g, ([name = '']) =>
    cipher(name === 'TRIPLEDES' ? '3DES' : upper(name)),
  ),

  rule(RUBY, /\bDigest::(MD5|SHA1|SHA256|SHA384|SHA512)\b/g, first(hash)),
  rule(RUBY, /\bOpenSSL::Cipher(?:::Cipher)?\.new\(\s*["']([\w-]{2,30})/g, first(cipher)),
  rule(RUBY, /\bOpenSSL::PKey::RSA\.(?:new|generate)\(\s*(\d{3,5})/g, rsaOf),

  rule(
    RUST,
    /\b(Md5|Sha1|Sha224|Sha256|Sha384|Sha512|Sha3_\d{3}|Blake2[bs]\d{3})::(?:new|digest|default)\(/g,
    first(hash),
  ),
  rule(
    RUST,
    /\b(Aes(?:128|192|256)(?:Gcm|Cbc|Ctr)?|ChaCha20Poly1305|Des|TdesEde3|Rc4)::new(?:_from_slice)?\(/g,
    ([name = '']) => cipher(name === 'TdesEde3' ? '3DES' : name.replace(/(\d)([A-Z][a-z])/, '$1-$2').toUpperCase()),
  ),
  rule(RUST, /\bRsaPrivateKey::new\([^,()]{1,60},\s*(\d{3,5})/g, rsaOf),
];

const MAX_SYMBOL = 60;
/** Maximum number of characters before the start of a comment. */
const MAX_INDENT = 200;
const COMMENT = /^\s*(?:\/\/|\/?\*|#(?!\s*(?:include|define|if|el|end))|--)/;

/** Finds calls of cryptographic functions in source code, by language. Comments are ignored. */
export const sourceCalls: Detector = ({ location, text }) =>
  SOURCE_RULES.filter(({ files }) => files.test(location)).flatMap((matching) => callsOf(matching, location, text));

function callsOf({ call, used }: SourceRule, location: string, text: string): SensorFinding[] {
  const placeOf = fileLinesOf(text);
  return [...text.matchAll(call)].flatMap((match): SensorFinding[] => {
    const { line, start } = placeOf(match.index);
    if (COMMENT.test(text.slice(start, Math.min(start + MAX_INDENT, match.index + 1)))) return [];
    const what = used(match.slice(1));
    const symbol = truncate((match[0].split('(')[0] ?? '').trim(), MAX_SYMBOL);
    const place: FindingPlace = { location, line, symbol };
    if (what === undefined) return [];
    if ('algorithm' in what) return [usedHere(what.algorithm, place)];
    const version = tlsVersion(what.tls);
    return version === undefined ? [] : [protocolHere({ ...version, type: 'tls' }, place)];
  });
}
