import { challengePasskey } from './generated/sdk.gen.js';
import type { NewPasskeyBody, PasskeyAnswerBody } from './generated/types.gen.js';
import { ApiProblem } from './problem.js';

/** Browsers offer passkeys on secure pages only. */
export const hasPasskeys = (): boolean => window.isSecureContext && 'PublicKeyCredential' in window;

/** Creates a passkey with the options of `beginPasskey`. */
export async function makePasskey(publicKey: object): Promise<NewPasskeyBody> {
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey as never);
  return shown(() => navigator.credentials.create({ publicKey: options }));
}

/** Signs a challenge with a passkey of this person, for sign-in or step-up. */
export async function askPasskey(email: string, password: string): Promise<PasskeyAnswerBody> {
  const { data } = await challengePasskey({ body: { email, password } });
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(data.publicKey as never);
  return shown(() => navigator.credentials.get({ publicKey: options }));
}

/** Cancelled, or no passkey available: the browser does not reveal which. */
async function shown<Body>(ask: () => Promise<Credential | null>): Promise<Body> {
  try {
    return ((await ask()) as PublicKeyCredential).toJSON() as Body;
  } catch (error) {
    const detail = error instanceof Error ? error.message : '';
    throw new ApiProblem({ status: 422, code: 'passkey.not-shown', title: '', detail, errors: [] });
  }
}
