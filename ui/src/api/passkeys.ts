import { challengePasskey } from './generated/sdk.gen.js';
import type { NewPasskeyBody, PasskeyAnswerBody } from './generated/types.gen.js';
import { ApiProblem } from './problem.js';

/** Browsers keep passkeys for secure pages alone. */
export const hasPasskeys = (): boolean => window.isSecureContext && 'PublicKeyCredential' in window;

/** Has the browser make a passkey, as `beginPasskey` orders it. */
export async function makePasskey(publicKey: object): Promise<NewPasskeyBody> {
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey as never);
  return shown(() => navigator.credentials.create({ publicKey: options }));
}

/** Has a passkey of this person answer a challenge, for signing in or showing oneself again. */
export async function askPasskey(email: string, password: string): Promise<PasskeyAnswerBody> {
  const { data } = await challengePasskey({ body: { email, password } });
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(data.publicKey as never);
  return shown(() => navigator.credentials.get({ publicKey: options }));
}

/** Put away, or no passkey there: the browser does not tell which. */
async function shown<Body>(ask: () => Promise<Credential | null>): Promise<Body> {
  try {
    return ((await ask()) as PublicKeyCredential).toJSON() as Body;
  } catch (error) {
    const detail = error instanceof Error ? error.message : '';
    throw new ApiProblem({ status: 422, code: 'passkey.not-shown', title: '', detail, errors: [] });
  }
}
