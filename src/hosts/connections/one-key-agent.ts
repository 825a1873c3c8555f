import ssh2 from 'ssh2';
import type { IdentityCallback, ParsedKey, SignCallback, SigningRequestOptions } from 'ssh2';
import { Problem } from '../../platform/errors/problem.js';
import type { SignerLogin } from '../model/ssh-session.port.js';

/** OneKeyAgent is an SSH agent with one key. The private key is stored elsewhere. */
export class OneKeyAgent extends ssh2.BaseAgent<ParsedKey> {
  /** @param failed called if signing with the key failed, in which case the host did not reject the key */
  constructor(
    private readonly login: SignerLogin,
    private readonly failed: (problem: Problem) => void,
  ) {
    super();
  }

  override getIdentities(done: IdentityCallback<ParsedKey>): void {
    const key = ssh2.utils.parseKey(this.login.publicKey);
    if (key instanceof Error) this.refuse(key, done);
    else done(undefined, [key]);
  }

  override sign(
    _key: ParsedKey,
    data: Buffer,
    options: SigningRequestOptions | SignCallback,
    done?: SignCallback,
  ): void {
    const answer = typeof options === 'function' ? options : done;
    const hash = typeof options === 'function' ? undefined : options.hash;
    this.login.sign(data, hash).then(
      (signature) => answer?.(undefined, signature),
      (error: unknown) => this.refuse(error, (fault) => answer?.(fault)),
    );
  }

  private refuse(error: unknown, done: (fault: Error) => void): void {
    const problem =
      error instanceof Problem
        ? error
        : new Problem('unavailable', 'host.signer', 'Signing with the login key failed. Retry.', { cause: error });
    this.failed(problem);
    done(problem);
  }
}
