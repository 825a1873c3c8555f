import type { SigningRequestView } from '../../api/generated/types.gen.js';

const FINAL: readonly SigningRequestView['status'][] = ['SIGNED', 'FAILED'];

/** isFinal reports whether a request is signed, failed or otherwise ended. */
export const isFinal = ({ status }: SigningRequestView): boolean => FINAL.includes(status);

/** fileNameOf returns the file name from the metadata of a request, or its reference. */
export function fileNameOf({ metadata, reference }: SigningRequestView): string | undefined {
  const name = (metadata as Record<string, unknown> | undefined)?.['filename'];
  return typeof name === 'string' && name !== '' ? name : reference;
}

/** File extension of a signature by format. */
const FILE_EXTENSIONS: Record<SigningRequestView['format'], string> = {
  raw: 'sig',
  cms: 'p7s',
  authenticode: 'p7',
  jws: 'jws',
  'sigstore-bundle': 'sigstore.json',
  dsse: 'dsse.json',
  openpgp: 'gpg',
  attestation: 'intoto.sigstore.json',
};

export const signatureFileOf = (request: SigningRequestView): string =>
  `${fileNameOf(request) ?? request.requestId}.${FILE_EXTENSIONS[request.format]}`;

/** shellQuote quotes text as a single POSIX shell word. */
const shellQuote = (text: string) => (/^[\w.,/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/**
 * verifyCommandOf returns a command that verifies the signature without this service, run in the directory of the file and both downloads. It
 * returns undefined if no common tool supports the format.
 */
export function verifyCommandOf(request: SigningRequestView): string | undefined {
  const file = shellQuote(fileNameOf(request) ?? 'FILE');
  const signature = shellQuote(signatureFileOf(request));
  const pem = shellQuote(`${request.key.name}-v${request.key.version}.pem`);
  if (request.format === 'cms') {
    return `openssl cms -verify -binary -inform DER -in ${signature} -content ${file} \\\n  -CAfile chain.pem -purpose any -out /dev/null`;
  }
  if (request.format !== 'raw' || request.scheme === 'ecdsa-raw') return undefined;
  const pss = request.scheme === 'rsa-pss' ? ' \\\n  -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest' : '';
  return `openssl dgst -${request.algorithm} -verify ${pem} -signature ${signature}${pss} ${file}`;
}

export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

/** pemOf converts base64 DER certificates to PEM. */
export const pemOf = (certificates: readonly string[]): string =>
  certificates
    .map((der) => `-----BEGIN CERTIFICATE-----\n${der.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`)
    .join('');
