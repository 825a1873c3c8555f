import { readFile, writeFile } from 'node:fs/promises';
import { openSslModules } from '../exec/tool-environment.js';
import { type FileOrder, type FileTool, privateKeyUri, SHA2 } from './file-tool.js';

/** Magic string at the end of a signed module (Linux, include/linux/module_signature.h). */
const MAGIC = Buffer.from('~Module signature appended~\n');
/** Size of struct module_signature in bytes: five one-byte fields, of which only the type is set, three bytes of padding, and the length of the signature. */
const INFO_BYTES = 12;
const PKEY_ID_PKCS7 = 2;

const contentOf = ({ out }: FileOrder): string => `${out}.content`;
const signatureOf = ({ out }: FileOrder): string => `${out}.p7s`;

const SIGN = ['cms', '-sign', '-binary', '-noattr', '-nocerts', '-nosmimecap', '-outform', 'DER'];
/** Arguments that verify a signature without verifying its certificate. The kernel decides whether to trust the certificate, based on its keyring. */
const VERIFY = ['cms', '-verify', '-binary', '-inform', 'DER', '-nointern', '-noverify', '-out', '/dev/null'];

/** Returns the arguments that select the key. The provider is used if the engine is not installed, as on Debian 13 with only pkcs11-provider. */
function keyOf({ key, chain, algorithm = 'sha256' }: FileOrder): string[] {
  const engine = openSslModules().engine === undefined ? [] : ['-engine', 'pkcs11', '-keyform', 'engine'];
  return [...engine, '-inkey', privateKeyUri(key), '-signer', chain, '-md', algorithm];
}

function signedFilesOf(order: FileOrder): string[] {
  return ['-in', contentOf(order), '-out', signatureOf(order)];
}

/**
 * Tool for kernel modules. The signature has the format of the kernel's own sign-file: CMS without signed attributes and certificates, appended to the module.
 * openssl creates the signature, because Debian's sign-file accepts a PKCS #11 key only through OpenSSL's provider, which Debian 12 does not have.
 */
export const kernelModule: FileTool = {
  extensions: ['.ko'],
  program: 'openssl',
  helpers: [],
  openSsl: 'engine or provider',
  toInstall: 'apt install openssl libengine-pkcs11-openssl',
  writesInPlace: false,
  isRepeatable: true,
  hasTimestamps: false,
  algorithms: SHA2,
  prepare: async (order) => writeFile(contentOf(order), withoutModuleSignature(await readFile(order.file))),
  sign: (order) => ({ program: 'openssl', args: [...SIGN, ...keyOf(order), ...signedFilesOf(order)] }),
  async finish(order) {
    const [content, signature] = await Promise.all([readFile(contentOf(order)), readFile(signatureOf(order))]);
    await writeFile(order.out, withModuleSignature(content, signature));
  },
  verify: (order) => {
    const files = ['-in', signatureOf(order), '-content', contentOf(order), '-certfile', order.chain];
    return { program: 'openssl', args: [...VERIFY, ...files], expected: 'successful' };
  },
};

/** Returns a module with its signature (CMS, DER) appended. */
export function withModuleSignature(content: Buffer, signature: Buffer): Buffer {
  const info = Buffer.alloc(INFO_BYTES);
  info.writeUInt8(PKEY_ID_PKCS7, 2);
  info.writeUInt32BE(signature.length, 8);
  return Buffer.concat([content, signature, info, MAGIC]);
}

/** Returns a module without its signature, if the module is signed. The kernel reads only the last signature and hashes everything before that signature. */
export function withoutModuleSignature(file: Buffer): Buffer {
  const infoAt = file.length - MAGIC.length - INFO_BYTES;
  if (infoAt < 0 || !file.subarray(-MAGIC.length).equals(MAGIC)) return file;
  const signatureAt = infoAt - file.readUInt32BE(infoAt + 8);
  return signatureAt < 0 ? file : file.subarray(0, signatureAt);
}
