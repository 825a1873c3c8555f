import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { type SshPublicKey, sshPublicKeyOfSpki } from '../../../formats/ssh/public-key.js';
import { sshSignature } from '../../../formats/ssh/ssh-signature.js';
import { WireReader, wireString, wireUint32 } from '../../../formats/ssh/wire.js';
import type { AgentKey } from '../signer/agent-keys.js';
import { keySigns } from '../signer/purposes.js';
import type { DigestName, Scheme, SignatureOrder, SignatureResult } from '../signer/remote-signer.js';
import { AGENT, agentFrame, AgentFrames, type AgentMessage } from './agent-frames.js';
import { readSignedData } from './ssh-signed-data.js';

/** Keys offered to programs that use the agent protocol, and the function that signs with the keys. */
interface SshKeySource {
  keys(): Promise<readonly AgentKey[]>;
  sign(order: SignatureOrder): Promise<SignatureResult>;
}

/** Maximum number of queued messages per connection. OpenSSH's clients send one message at a time. */
const MAX_WAITING = 16;

/**
 * Serves one connection with the agent protocol (draft-miller-ssh-agent). Only requests for identities and signatures are supported, and all other requests are
 * rejected.
 */
export function serveSshClient(socket: Socket, source: SshKeySource): void {
  const frames = new AgentFrames();
  const gone = new AbortController();
  const connection = new SshAgentConnection(source, gone.signal);
  let work = Promise.resolve();
  let waiting = 0;
  socket.on('data', (piece: Buffer) => {
    try {
      for (const message of frames.add(piece)) {
        waiting += 1;
        if (waiting > MAX_WAITING) throw new RangeError('too many messages at once');
        work = work.then(async () => {
          const answer = await connection.answer(message);
          waiting -= 1;
          if (!socket.destroyed) socket.write(answer);
        });
      }
    } catch {
      socket.destroy();
    }
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => gone.abort(new Error('the calling program has exited')));
}

interface OfferedKey {
  readonly key: AgentKey;
  readonly ssh: SshPublicKey;
}

const FAILURE = agentFrame(AGENT.failure);

/** SshAgentConnection answers the messages of one connection. */
export class SshAgentConnection {
  private offered: readonly OfferedKey[] | undefined;

  constructor(
    private readonly source: SshKeySource,
    private readonly gone: AbortSignal,
  ) {}

  /** Returns the response to a message. Never throws. Malformed messages, unknown keys and unsuccessful signatures get a failure response. */
  async answer({ type, contents }: AgentMessage): Promise<Buffer> {
    try {
      if (type === AGENT.requestIdentities && contents.length === 0) return identities(await this.read());
      if (type === AGENT.signRequest) return await this.signature(contents);
      return FAILURE;
    } catch {
      return FAILURE;
    }
  }

  private async signature(contents: Buffer): Promise<Buffer> {
    const reader = new WireReader(contents);
    const [blob, data, flags] = [reader.string(), reader.string(), reader.uint32()];
    if (!reader.done) return FAILURE;
    const offered = (this.offered ?? (await this.read())).find(({ ssh }) => ssh.blob.equals(blob));
    const read = readSignedData(data, blob);
    if (offered === undefined || read === undefined || !keySigns(offered.key.purpose, read.purpose)) return FAILURE;
    const algorithm = sshAlgorithm(offered.key, flags);
    if (algorithm === undefined || (read.algorithm !== undefined && read.algorithm !== algorithm.name)) return FAILURE;
    const { hash, scheme } = algorithm;
    const digest = createHash(hash).update(data).digest();
    const { purpose, shown } = read;
    const { key } = offered;
    const result = await this.source.sign({ key, digest, algorithm: hash, scheme, purpose, shown, signal: this.gone });
    if (result.kind !== 'signed') return FAILURE;
    return agentFrame(AGENT.signResponse, wireString(sshSignature(algorithm.name, result.signature)));
  }

  /** Reloads the keys whenever the program lists them. A signature uses one of the keys in the last list. */
  private async read(): Promise<readonly OfferedKey[]> {
    this.offered = (await this.source.keys()).map((key) => ({ key, ssh: sshPublicKeyOfSpki(key.publicKey) }));
    return this.offered;
  }
}

function identities(offered: readonly OfferedKey[]): Buffer {
  const each = offered.flatMap(({ key, ssh }) => [wireString(ssh.blob), wireString(key.name)]);
  return agentFrame(AGENT.identitiesAnswer, wireUint32(offered.length), ...each);
}

/** An SSH signature algorithm, with the service's corresponding hash and scheme. */
interface SshAlgorithm {
  readonly name: string;
  readonly hash: DigestName;
  readonly scheme: Scheme;
}

/** Flags of a sign request (draft-miller-ssh-agent section 7.3). */
const RSA_SHA2_256 = 2;
const RSA_SHA2_512 = 4;

const BY_FLAG: Readonly<Record<number, SshAlgorithm>> = {
  [RSA_SHA2_256]: { name: 'rsa-sha2-256', hash: 'sha256', scheme: 'rsa-pkcs1v15' },
  [RSA_SHA2_512]: { name: 'rsa-sha2-512', hash: 'sha512', scheme: 'rsa-pkcs1v15' },
};
/** Algorithms for ECDSA keys (RFC 5656 section 6.2.1). */
const BY_TYPE: Readonly<Record<string, SshAlgorithm>> = {
  'ec-p256': { name: 'ecdsa-sha2-nistp256', hash: 'sha256', scheme: 'ecdsa-raw' },
  'ec-p384': { name: 'ecdsa-sha2-nistp384', hash: 'sha384', scheme: 'ecdsa-raw' },
  'ec-p521': { name: 'ecdsa-sha2-nistp521', hash: 'sha512', scheme: 'ecdsa-raw' },
};

/** Returns the signature algorithm for a key and a request's flags. Returns undefined for unknown flags, and for RSA without flags, which requests SHA-1. */
export function sshAlgorithm({ type }: AgentKey, flags: number): SshAlgorithm | undefined {
  if (type.startsWith('rsa')) return BY_FLAG[flags];
  return flags === 0 ? BY_TYPE[type] : undefined;
}
