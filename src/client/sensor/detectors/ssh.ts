import type { SensorFinding, FindingPlace } from '../model/finding.js';
import { privateKeyHere } from '../model/private-key.js';
import { WireReader } from '../../../formats/ssh/wire.js';
import { factsOfBlob } from '../model/ssh-blob.js';
import { truncate } from '../../../platform/text/truncate.js';
import type { Detector } from './detector.js';

const KEY =
  /(?<!\S)((?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256))(?:-cert-v01)?(?:@openssh\.com)?)[ \t]{1,99}(AAAA[A-Za-z0-9+/]{40,}={0,2})(?!\S)/;
const MAX_COMMENT = 200;
const MAGIC = 'openssh-key-v1\0';
const PUTTY = /^PuTTY-User-Key-File-\d: ([\w.@-]{1,60})\r?\nEncryption: ([\w-]{1,40})/;

/**
 * Finds SSH public keys in `.pub` files, authorized_keys and known_hosts, and PuTTY private keys. Options before a key are omitted, because options can
 * contain commands. Host names in known_hosts are omitted, because they are private.
 */
export const sshKeys: Detector = ({ location, name, text }) => {
  const putty = PUTTY.exec(text);
  if (putty !== null) return [puttyKey(putty, text, { location })];
  if (!text.includes(' AAAA')) return [];
  const context = /^authorized_keys2?$/.test(name) ? { additionalContext: 'authorized_keys' } : {};
  return text.split('\n').flatMap((line, index): SensorFinding[] => {
    const found = line.startsWith('#') ? null : KEY.exec(line);
    if (found === null) return [];
    const [key, type = '', blob = ''] = found;
    const comment = truncate(line.slice(found.index + key.length).trim(), MAX_COMMENT);
    const place = { location, line: index + 1, ...context };
    return [{ place, publicKey: `${type} ${blob} ${comment}`.trimEnd() }];
  });
};

/** Reads an OpenSSH private key (PROTOCOL.key). The cipher and the public key precede the private key, and only the cipher and the public key are decoded. */
export function openSshKey(base64: string, place: FindingPlace): SensorFinding[] {
  const head = Buffer.from(base64.slice(0, 4096), 'base64');
  if (head.toString('latin1', 0, MAGIC.length) !== MAGIC) return [];
  const fields = new WireReader(head, MAGIC.length);
  const [cipher, kdf] = [fields.text(), fields.text()];
  fields.string();
  fields.uint32();
  const facts = factsOfBlob(fields.string());
  return [privateKeyHere(facts, { scheme: cipher === 'none' ? undefined : `${kdf} ${cipher}` }, place)];
}

function puttyKey([, , encryption]: RegExpExecArray, text: string, place: FindingPlace): SensorFinding {
  const [, count = '0'] = /^Public-Lines: (\d{1,3})\r?$/m.exec(text) ?? [];
  const after = text.slice(text.indexOf('Public-Lines:')).split('\n');
  const blob = Buffer.from(after.slice(1, 1 + Number(count)).join(''), 'base64');
  const facts = blob.length > 8 ? factsOfBlob(blob) : {};
  return privateKeyHere(facts, { scheme: encryption === 'none' ? undefined : encryption }, place);
}
