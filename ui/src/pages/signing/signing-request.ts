import type { SigningRequestView } from '../../api/generated/types.gen.js';

const FINAL: readonly SigningRequestView['status'][] = ['SIGNED', 'FAILED'];

/** Whether the state is final. */
export const isFinal = ({ status }: SigningRequestView): boolean => FINAL.includes(status);

/** File name from the metadata of the request, if the caller sent it, else its reference. */
export function fileNameOf({ metadata, reference }: SigningRequestView): string | undefined {
  const name = (metadata as Record<string, unknown> | undefined)?.['filename'];
  return typeof name === 'string' && name !== '' ? name : reference;
}

/** File extension of the signature, by format. */
const ENDINGS: Record<SigningRequestView['format'], string> = {
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
  `${fileNameOf(request) ?? request.requestId}.${ENDINGS[request.format]}`;

/** Quotes text as one POSIX shell word. */
const word = (text: string) => (/^[\w.,/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/**
 * The command that verifies this signature without this service, run beside the file and the two downloads.
 * undefined where no widespread tool reads the format by itself.
 */
export function verifyCommandOf(request: SigningRequestView): string | undefined {
  const file = word(fileNameOf(request) ?? 'FILE');
  const signature = word(signatureFileOf(request));
  const pem = word(`${request.key.name}-v${request.key.version}.pem`);
  if (request.format === 'cms') {
    return `openssl cms -verify -binary -inform DER -in ${signature} -content ${file} \\\n  -CAfile chain.pem -purpose any -out /dev/null`;
  }
  if (request.format !== 'raw' || request.scheme === 'ecdsa-raw') return undefined;
  const pss = request.scheme === 'rsa-pss' ? ' \\\n  -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest' : '';
  return `openssl dgst -${request.algorithm} -verify ${pem} -signature ${signature}${pss} ${file}`;
}

export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

/** DER certificates in base64, as PEM. */
export const pemOf = (certificates: readonly string[]): string =>
  certificates
    .map((der) => `-----BEGIN CERTIFICATE-----\n${der.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`)
    .join('');
