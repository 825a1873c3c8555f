export interface SoftHsmToken {
  /** The PKCS#11 module. */
  readonly library: string;
  /** The configuration that SOFTHSM2_CONF names. */
  readonly conf: string;
  readonly label: string;
  /** File (mode 600) with the user PIN. */
  readonly pinFile: string;
  /** What a process that loads the module needs in its environment. */
  readonly environment: { readonly SOFTHSM2_CONF: string };
}

export function createToken(options: { dir: string; label: string }): Promise<SoftHsmToken>;
