export interface SoftHsmToken {
  /** Path of the PKCS #11 module. */
  readonly library: string;
  /** Path of the configuration file, for SOFTHSM2_CONF. */
  readonly conf: string;
  readonly label: string;
  /** File (mode 600) with the user PIN. */
  readonly pinFile: string;
  /** Environment variables for a process that loads the module. */
  readonly environment: { readonly SOFTHSM2_CONF: string };
}

export function createToken(options: { dir: string; label: string }): Promise<SoftHsmToken>;
