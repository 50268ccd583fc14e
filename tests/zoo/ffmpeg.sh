#!/bin/bash
# ffmpeg: filters, encoders of several threads, a decoder of what they made; its sums
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need ffmpeg; }

run() {
    local quiet=(-hide_banner -loglevel error -nostdin -y)
    under ffmpeg "${quiet[@]}" -f lavfi -i testsrc=size=320x240:rate=25:duration=4 -f lavfi -i sine=frequency=440:duration=4 \
        -c:v mpeg4 -threads 2 -c:a flac -bitexact -f matroska made.mkv
    echo "status $?"
    sha256sum <made.mkv
    under ffmpeg "${quiet[@]}" -threads 3 -i made.mkv -vf scale=640:480,hflip -c:v libx264 -preset ultrafast -threads 3 -f null -
    echo "status $?"
    under ffmpeg "${quiet[@]}" -threads 3 -i made.mkv -bitexact -f md5 -
    echo "status $?"
}

zoo "$@"
