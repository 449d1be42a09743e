"""A ferry, a parcel and a pier that closes: the smallest whole world."""
