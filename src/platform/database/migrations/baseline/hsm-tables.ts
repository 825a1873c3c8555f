/** HSM_TABLES creates the tables of `hsm`: PINs that the token rejected. */
export const HSM_TABLES: readonly string[] = [
  `CREATE TABLE "hsm_refused_pin" (
      "fingerprint" bytea NOT NULL,
      "at" timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT "hsm_refused_pin_fingerprint" PRIMARY KEY (fingerprint)
    )`,
];
