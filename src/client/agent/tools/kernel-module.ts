import { readFile, writeFile } from 'node:fs/promises';
import { openSslModules } from '../exec/tool-environment.js';
import { type FileOrder, type FileTool, privateKeyUri, SHA2 } from './file-tool.js';

/** Ends a module that is signed (Linux, include/linux/module_signature.h). */
const MAGIC = Buffer.from('~Module signature appended~\n');
/** struct module_signature: five numbers of a byte, of which only the kind is set, three of padding, and the length of the signature. */
const INFO_BYTES = 12;
const PKEY_ID_PKCS7 = 2;

const contentOf = ({ out }: FileOrder): string => `${out}.content`;
const signatureOf = ({ out }: FileOrder): string => `${out}.p7s`;

const SIGN = ['cms', '-sign', '-binary', '-noattr', '-nocerts', '-nosmimecap', '-outform', 'DER'];
/** Whether the certificate is trusted is up to the kernel, which has it among its keys. */
const VERIFY = ['cms', '-verify', '-binary', '-inform', 'DER', '-nointern', '-noverify', '-out', '/dev/null'];

/** By the provider where the engine is not installed, as on Debian 13 with pkcs11-provider alone. */
function keyOf({ key, chain, algorithm = 'sha256' }: FileOrder): string[] {
  const engine = openSslModules().engine === undefined ? [] : ['-engine', 'pkcs11', '-keyform', 'engine'];
  return [...engine, '-inkey', privateKeyUri(key), '-signer', chain, '-md', algorithm];
}

function signedFilesOf(order: FileOrder): string[] {
  return ['-in', contentOf(order), '-out', signatureOf(order)];
}

/**
 * Kernel modules, as the kernel's own sign-file signs them: CMS without signed attributes and certificates, behind the module. openssl makes it,
 * since the sign-file of Debian takes a PKCS #11 key by OpenSSL's provider alone, which Debian 12 does not have.
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

/** A module with its signature (CMS, DER) behind it. */
export function withModuleSignature(content: Buffer, signature: Buffer): Buffer {
  const info = Buffer.alloc(INFO_BYTES);
  info.writeUInt8(PKEY_ID_PKCS7, 2);
  info.writeUInt32BE(signature.length, 8);
  return Buffer.concat([content, signature, info, MAGIC]);
}

/** A module without the signature that it may have: the kernel looks at the last one alone, and hashes what is before it. */
export function withoutModuleSignature(file: Buffer): Buffer {
  const infoAt = file.length - MAGIC.length - INFO_BYTES;
  if (infoAt < 0 || !file.subarray(-MAGIC.length).equals(MAGIC)) return file;
  const signatureAt = infoAt - file.readUInt32BE(infoAt + 8);
  return signatureAt < 0 ? file : file.subarray(0, signatureAt);
}
