import { challengePasskey } from './generated/sdk.gen.js';
import type { NewPasskeyBody, PasskeyAnswerBody } from './generated/types.gen.js';
import { ApiProblem } from './problem.js';

/** hasPasskeys reports whether the browser supports passkeys, which requires a secure context. */
export const hasPasskeys = (): boolean => window.isSecureContext && 'PublicKeyCredential' in window;

/** createPasskey creates a passkey with the options of `beginPasskey`. */
export async function createPasskey(publicKey: object): Promise<NewPasskeyBody> {
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey as never);
  return shown(() => navigator.credentials.create({ publicKey: options }));
}

/** signWithPasskey signs a challenge with one of the person's passkeys, for sign-in or step-up. */
export async function signWithPasskey(email: string, password: string): Promise<PasskeyAnswerBody> {
  const { data } = await challengePasskey({ body: { email, password } });
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(data.publicKey as never);
  return shown(() => navigator.credentials.get({ publicKey: options }));
}

/** shown returns the created or used credential. It throws if the person cancelled or has no passkey; browsers do not reveal which. */
async function shown<Body>(ask: () => Promise<Credential | null>): Promise<Body> {
  try {
    return ((await ask()) as PublicKeyCredential).toJSON() as Body;
  } catch (error) {
    const detail = error instanceof Error ? error.message : '';
    throw new ApiProblem({ status: 422, code: 'passkey.not-shown', title: '', detail, errors: [] });
  }
}
