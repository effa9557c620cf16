// Every work-item decodes a text of its own: how many characters it has, how many bytes are none of any, and a sum. Characters have one
// to four bytes, so that work-items soon are at different places.
kernel void utf8_lengths(uint bytes, global const uchar* texts, global uint* out) {
    size_t id = get_global_id(0);
    global const uchar* text = texts + id * bytes;
    uint at = 0, characters = 0, wrong = 0, sum = 0;
    while (at < bytes) {
        uint c = text[at], code, more;
        if (c < 0x80) {
            code = c;
            more = 0;
        } else if (c >> 5 == 6) {
            code = c & 31;
            more = 1;
        } else if (c >> 4 == 14) {
            code = c & 15;
            more = 2;
        } else if (c >> 3 == 30) {
            code = c & 7;
            more = 3;
        } else {
            ++wrong;
            ++at;
            continue;
        }
        uint got = 0;
        while (got < more && at + got + 1 < bytes && text[at + got + 1] >> 6 == 2)
            code = code << 6 | (text[at + ++got] & 63);
        at += got + 1;
        if (got < more) {
            ++wrong;
            continue;
        }
        ++characters;
        sum = sum * 31 + code;
    }
    out[3 * id] = characters;
    out[3 * id + 1] = wrong;
    out[3 * id + 2] = sum;
}
