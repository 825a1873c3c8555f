import { verifySync } from 'otplib';

/** TOTP_CODE matches a code of an authenticator app. */
export const TOTP_CODE = /^\d{6}$/;
/** Accepted deviation: one time step in either direction, because clocks differ and typing takes time. */
const TOLERANCE_SECONDS = 30;

/** timeStepOf returns the time step for which an app with this secret shows the code (RFC 6238); undefined if the code is not currently valid. */
export function timeStepOf(code: string, secret: string): number | undefined {
  const result = verifySync({ secret, token: code, epochTolerance: TOLERANCE_SECONDS });
  return result.valid && 'timeStep' in result ? result.timeStep : undefined;
}
