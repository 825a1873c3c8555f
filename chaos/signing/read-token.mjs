import { readFileSync } from 'node:fs';
import pkcs11js from 'pkcs11js';

/** Usage: read-token.mjs LIBRARY LABEL, with the PIN on standard input. Prints the attributes of the token's private keys (see token.ts). */
const [library = '', label = ''] = process.argv.slice(2);
const token = new pkcs11js.PKCS11();
token.load(library);
token.C_Initialize({ flags: pkcs11js.CKF_OS_LOCKING_OK });
const slot = token.C_GetSlotList(true).find((one) => token.C_GetTokenInfo(one).label.trim() === label);
const session = token.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION | pkcs11js.CKF_RW_SESSION);
token.C_Login(session, pkcs11js.CKU_USER, readFileSync(0, 'utf8').trim());

token.C_FindObjectsInit(session, [{ type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_PRIVATE_KEY }]);
const objects = [];
for (let found = token.C_FindObjects(session, 100); found.length > 0; found = token.C_FindObjects(session, 100)) {
  objects.push(...found);
}
token.C_FindObjectsFinal(session);
process.stdout.write(JSON.stringify(objects.map(describe)));
process.exit(0);

function describe(object) {
  const flag = (type) => attribute(object, type)[0] === 1;
  const rsa = attribute(object, pkcs11js.CKA_KEY_TYPE)[0] === pkcs11js.CKK_RSA;
  return {
    ckaId: attribute(object, pkcs11js.CKA_ID).toString('hex'),
    sensitive: flag(pkcs11js.CKA_SENSITIVE),
    extractable: flag(pkcs11js.CKA_EXTRACTABLE),
    alwaysSensitive: flag(pkcs11js.CKA_ALWAYS_SENSITIVE),
    neverExtractable: flag(pkcs11js.CKA_NEVER_EXTRACTABLE),
    readValue: attempt(() => attribute(object, rsa ? pkcs11js.CKA_PRIVATE_EXPONENT : pkcs11js.CKA_VALUE)),
    makeExtractable: attempt(() => set(object, pkcs11js.CKA_EXTRACTABLE, true)),
    makeInsensitive: attempt(() => set(object, pkcs11js.CKA_SENSITIVE, false)),
  };
}

function attribute(object, type) {
  return token.C_GetAttributeValue(session, object, [{ type }])[0].value;
}

function set(object, type, value) {
  token.C_SetAttributeValue(session, object, [{ type, value }]);
}

function attempt(action) {
  try {
    action();
    return 'done';
  } catch (error) {
    return /CKR_\w+/.exec(error.message)?.[0] ?? error.message;
  }
}
